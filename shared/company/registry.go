package company

import (
	"context"
	"iter"

	"orgops/shared/store"
)

// Registered is every company's item in the registry, whose key is the company's id and whose body an Entry. A shard that
// cannot be read is an error, after which the next one follows.
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
