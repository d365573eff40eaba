package simstore

import (
	"context"
	"time"

	"orgops/shared/storage/store"
)

// Store implements store.Store over a table, without faults and with one clock.
type Store struct {
	Table *Table
	Now   func() time.Time
}

// Get implements store.Store.
func (s Store) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if err := ctx.Err(); err != nil {
		return store.Item{}, err
	}
	return s.Table.Get(s.Now(), p, key)
}

// GetMany implements store.Store.
func (s Store) GetMany(ctx context.Context, p store.Partition, keys []string) ([]store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Table.GetMany(s.Now(), p, keys)
}

// Query implements store.Store.
func (s Store) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	return s.Table.Query(s.Now(), p, q), nil
}

// Commit implements store.Store.
func (s Store) Commit(ctx context.Context, ops ...store.Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Table.Commit(s.Now(), ops...)
}
