package ticker

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// head holds the first page of a shard's due timers.
type head struct {
	shard int
	store.Page
}

// heads reads the first page of all shards. It leaves out the shards that it cannot read.
func (t *Ticker) heads(ctx context.Context, now time.Time) ([]head, error) {
	var heads [store.DueShards]head
	var unread [store.DueShards]error
	var reading sync.WaitGroup
	for shard := range store.DueShards {
		reading.Go(func() { heads[shard], unread[shard] = t.read(ctx, shard, now) })
	}
	reading.Wait()
	var all []head
	for shard, err := range unread {
		if err == nil {
			all = append(all, heads[shard])
		}
	}
	return all, errors.Join(unread[:]...)
}

func (t *Ticker) read(ctx context.Context, shard int, now time.Time) (head, error) {
	q := store.DueBy(now)
	q.Limit = t.Page
	page, err := t.Store.Query(ctx, store.Due(shard), q)
	return head{shard, page}, err
}

// due holds a timer that is due, with its item and its shard.
type due struct {
	timer store.Timer
	item  store.Item
	shard int
}

// dues decodes the timers of a page. A timer that is unreadable stays until it expires.
func (t *Ticker) dues(ctx context.Context, h head) (all []due) {
	for _, item := range h.Items {
		d := due{item: item, shard: h.shard}
		if err := item.Decode(&d.timer); err != nil {
			t.failed(ctx, item, err)
			continue
		}
		all = append(all, d)
	}
	return all
}
