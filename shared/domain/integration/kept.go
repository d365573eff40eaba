package integration

import (
	"bytes"
	"maps"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// maxKept limits the decoded items of one kind in memory. At the limit, all of them are dropped: it costs less to decode them
// again than to track the order of use.
const maxKept = 1000

// kept holds decoded items by company and key, with the bytes that they were decoded from.
type kept[T any] struct {
	mu  sync.Mutex
	all map[itemKey]decoded[T]
}

type itemKey struct{ company, key string }

type decoded[T any] struct {
	body  []byte
	value T
	until time.Time // zero: as long as there is room
}

func (d decoded[T]) ended(now time.Time) bool { return !d.until.IsZero() && !now.Before(d.until) }

func (k *kept[T]) get(c store.Company, item store.Item) (value T, ok bool) {
	k.mu.Lock()
	d, ok := k.all[itemKey{c.ID(), item.Key}]
	k.mu.Unlock()
	return d.value, ok && bytes.Equal(d.body, item.Body) && !d.ended(time.Now())
}

// put keeps a value for the time given, or for longer if that is 0.
func (k *kept[T]) put(c store.Company, item store.Item, value T, limit time.Duration) {
	d := decoded[T]{body: item.Body, value: value}
	if limit > 0 {
		d.until = time.Now().Add(limit)
		time.AfterFunc(limit, k.forget) // even if no caller asks for it again
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= maxKept {
		k.all = map[itemKey]decoded[T]{}
	}
	k.all[itemKey{c.ID(), item.Key}] = d
}

// forget drops what has ended.
func (k *kept[T]) forget() {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.all, func(_ itemKey, d decoded[T]) bool { return d.ended(now) })
}
