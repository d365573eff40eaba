package sqlitestore

import (
	"bytes"
	"container/list"
	"sync"

	"orgops/shared/store"
)

// cacheBytes is how much the cache holds, bodies and what is around them.
const (
	cacheBytes    = 4 << 20
	entryOverhead = 400
)

// cache holds the items that were read lately. A reader of SQLite drops its pages whenever somebody has written, so
// that under load each Get descends a cold tree; a few items (an integration, its secrets, a context) are most of what
// is read.
//
// The writer keeps it true: before a commit is answered, what it wrote is replaced here. A commit of another process
// empties it, within Options.Notice.
type cache struct {
	mu      sync.Mutex
	entries map[cacheKey]*entry
	recent  *list.List // of *entry, the most recently used first
	bytes   int
}

type cacheKey struct{ pk, sk string }

type entry struct {
	key   cacheKey
	item  store.Item
	place *list.Element // nil while it is being loaded
}

func newCache() *cache { return &cache{entries: map[cacheKey]*entry{}, recent: list.New()} }

// get answers an item. Where there is none, load is the place to fill once it has been read, nil when somebody else is
// at it.
func (c *cache) get(key cacheKey) (item store.Item, ok bool, load *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	switch {
	case e == nil:
		load = &entry{key: key}
		c.entries[key] = load
		return store.Item{}, false, load
	case e.place == nil:
		return store.Item{}, false, nil
	}
	c.recent.MoveToFront(e.place)
	return e.item, true, nil
}

// fill ends a load: with the item, or without when there is none. Where a commit came between, what was read may be
// old, and is not kept.
func (c *cache) fill(load *entry, item store.Item, found bool) {
	if load == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[load.key] != load {
		return
	}
	if !found {
		delete(c.entries, load.key)
		return
	}
	load.item, load.place = item, c.recent.PushFront(load)
	c.bytes += size(item)
	for c.bytes > cacheBytes {
		c.remove(c.recent.Back().Value.(*entry))
	}
}

// wrote takes over what a durable commit wrote of what is cached.
func (c *cache) wrote(ops []store.Op, items func(i int) store.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range ops {
		e := c.entries[cacheKey{ops[i].Partition.String(), ops[i].Key}]
		switch {
		case e == nil || ops[i].Action == store.Check:
		case e.place == nil || ops[i].Action == store.Delete:
			c.remove(e)
		default:
			item := items(i)
			item.Body = bytes.Clone(item.Body) // whoever committed it may use its memory again
			c.bytes += size(item) - size(e.item)
			e.item = item
		}
	}
}

// empty forgets everything, loads under way too.
func (c *cache) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.recent.Init()
	c.bytes = 0
}

func (c *cache) remove(e *entry) {
	delete(c.entries, e.key)
	if e.place != nil {
		c.recent.Remove(e.place)
		c.bytes -= size(e.item)
	}
}

func size(i store.Item) int { return len(i.Body) + entryOverhead }
