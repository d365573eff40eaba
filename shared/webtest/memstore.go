package webtest

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"orgops/shared/store"
)

type memStore struct {
	mu    sync.Mutex
	items map[string]store.Item
}

func (m *memStore) get(k string) (store.Item, bool) {
	it, ok := m.items[k]
	if ok && !it.Expires.IsZero() && !time.Now().Before(it.Expires) {
		return store.Item{}, false
	}
	return it, ok
}

func (m *memStore) Get(_ context.Context, p store.Partition, key string) (store.Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, ok := m.get(p.String() + "\x00" + key)
	if !ok {
		return store.Item{}, store.ErrNotFound
	}
	return it, nil
}

func (m *memStore) Query(_ context.Context, p store.Partition, q store.Query) (store.Page, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var page store.Page
	for k := range m.items {
		it, ok := m.get(k)
		if ok && strings.HasPrefix(k, p.String()+"\x00"+q.Prefix) && (q.After == "" || it.Key > q.After) && it.Key >= q.From && (q.To == "" || it.Key <= q.To) {
			page.Items = append(page.Items, it)
		}
	}
	sort.Slice(page.Items, func(i, j int) bool { return page.Items[i].Key < page.Items[j].Key })
	if q.Limit > 0 && len(page.Items) > q.Limit {
		page.Items = page.Items[:q.Limit]
		page.Next = page.Items[q.Limit-1].Key
	}
	return page, nil
}

func (m *memStore) Commit(_ context.Context, ops ...store.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, op := range ops {
		it, ok := m.get(op.Partition.String() + "\x00" + op.Key)
		if op.Condition == store.IfAbsent && ok || op.Condition == store.IfVersion && (!ok || it.Version != op.Version) {
			return fmt.Errorf("commit: %w", &store.ConflictError{Index: i, Key: op.Key})
		}
	}
	for _, op := range ops {
		k := op.Partition.String() + "\x00" + op.Key
		it, _ := m.get(k)
		switch op.Action {
		case store.Put:
			m.items[k] = store.Item{Key: op.Key, Entity: op.Entity, Version: it.Version + 1, At: time.Now().UTC(), Expires: op.Expires, Body: op.Body}
		case store.Delete:
			delete(m.items, k)
		}
	}
	return nil
}
