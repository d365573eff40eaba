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
			for item, err := range store.Items(ctx, st, store.Registry(shard), store.Query{}) {
				if !yield(item, err) {
					return
				}
			}
		}
	}
}
