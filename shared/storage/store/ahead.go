package store

import (
	"context"
	"slices"
)

// Ahead reads items with one call, or with one for each MaxKeys of them. The returned company answers Gets of these keys from what was
// read, also of an item that is absent. It is for one piece of work: it does not see later commits, and a commit at a version that it
// has given returns ErrConflict if the item has changed since.
func (c Company) Ahead(ctx context.Context, keys ...string) (Company, error) {
	if c.store == nil {
		return c, errUnbound
	}
	own := companyPartition(c.id)
	read := known{Store: c.store, company: own, items: make(map[string]*Item, len(keys))}
	var distinct []string
	for _, key := range keys {
		if _, ok := read.items[key]; !ok {
			read.items[key] = nil
			distinct = append(distinct, key)
		}
	}
	for chunk := range slices.Chunk(distinct, MaxKeys) {
		items, err := c.store.GetMany(ctx, own, chunk)
		if err != nil {
			return c, err
		}
		for i := range items {
			read.items[items[i].Key] = &items[i]
		}
	}
	return Company{id: c.id, store: read}, nil
}

// known is a store of which some items have been read.
type known struct {
	Store
	company Partition
	items   map[string]*Item // nil: absent
}

// Get implements Store.
func (s known) Get(ctx context.Context, p Partition, key string) (Item, error) {
	item, ok := s.items[key]
	switch {
	case !ok || p != s.company:
		return s.Store.Get(ctx, p, key)
	case item == nil:
		return Item{}, ErrNotFound
	}
	return *item, nil
}
