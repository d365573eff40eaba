package company

import (
	"context"
	"iter"

	"orgops/shared/storage/store"
)

// Registered yields every company's item in the registry: its key is the company's id, its body an Entry. For a shard that
// cannot be read it yields an error and continues with the next shard.
func Registered(ctx context.Context, st store.Store) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		for shard := range store.RegistryShards {
			if !registered(ctx, st, shard, yield) {
				return
			}
		}
	}
}

func registered(ctx context.Context, st store.Store, shard int, yield func(store.Item, error) bool) bool {
	for q := (store.Query{}); ; {
		page, err := st.Query(ctx, store.Registry(shard), q)
		if err != nil {
			return yield(store.Item{}, err)
		}
		for _, item := range page.Items {
			if !yield(item, nil) {
				return false
			}
		}
		if q.After = page.Next; q.After == "" {
			return true
		}
	}
}
