package integration

import (
	"bytes"
	"context"
	"sync"

	"orgops/shared/storage/store"
)

// maxKept limits how many decoded items a Reader keeps of each kind. At the limit, it drops all of them: to decode them again
// costs less than to track the order of use.
const maxKept = 1000

// Reader reads integrations and their secrets as Load and LoadSecrets do. Each call reads the store, but decodes only what has
// changed since an earlier call: most calls to a busy integration find the same bytes. Callers must not change what the
// results point to. The zero Reader is ready. Its methods are safe for concurrent use.
type Reader struct {
	integrations kept[Integration]
	secrets      kept[Secrets]
}

// Load does what the function Load does.
func (r *Reader) Load(ctx context.Context, c store.Company, provider string) (Integration, int64, error) {
	return load(ctx, c, provider, func(item store.Item) Integration {
		if i, ok := r.integrations.get(c, item); ok {
			return i
		}
		i := decode(item)
		r.integrations.put(c, item, i)
		return i
	})
}

// LoadSecrets does what the function LoadSecrets does.
func (r *Reader) LoadSecrets(ctx context.Context, c store.Company, v Vault, provider string) (Secrets, int64, error) {
	return loadSecrets(ctx, c, provider, func(item store.Item) (Secrets, error) {
		if s, ok := r.secrets.get(c, item); ok {
			return s, nil
		}
		s, err := openSecrets(ctx, c, v, provider, item)
		if err == nil {
			r.secrets.put(c, item, s)
		}
		return s, err
	})
}

// kept holds decoded items by company and key, with the bytes that they were decoded from.
type kept[T any] struct {
	mu  sync.Mutex
	all map[itemKey]decoded[T]
}

type itemKey struct{ company, key string }

type decoded[T any] struct {
	body  []byte
	value T
}

func (k *kept[T]) get(c store.Company, item store.Item) (value T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, ok := k.all[itemKey{c.ID(), item.Key}]
	return d.value, ok && bytes.Equal(d.body, item.Body)
}

func (k *kept[T]) put(c store.Company, item store.Item, value T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= maxKept {
		k.all = map[itemKey]decoded[T]{}
	}
	k.all[itemKey{c.ID(), item.Key}] = decoded[T]{item.Body, value}
}
