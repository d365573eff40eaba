package sqlitestore

import (
	"bytes"
	"container/list"
	"sync"

	"orgops/shared/storage/store"
)

// cacheBytes limits the size of all entries. Each entry counts as its body plus entryOverhead.
const (
	cacheBytes    = 2 << 20
	entryOverhead = 400
)

// cache holds recently read items. A SQLite reader drops its cached pages after every write, so under load each Get would
// read cold pages. A few items (an integration, its secrets, a context) make up most reads.
//
// Before Commit returns, the writer updates the cached items. A commit of another process empties the cache within
// Options.Notice.
type cache struct {
	mu      sync.Mutex
	entries map[cacheKey]*entry
	recent  *list.List // of *entry, most recently used first
	bytes   int
}

type cacheKey struct{ pk, sk string }

type entry struct {
	key   cacheKey
	item  store.Item
	place *list.Element // nil while loading
}

func newCache() *cache { return &cache{entries: map[cacheKey]*entry{}, recent: list.New()} }

// get returns a cached item. On a miss, the caller reads the item and passes load to fill. load is nil while another caller
// loads the item.
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

// peek returns a cached item. A miss begins no load: a batch of items that are read once would drive out those that are read often.
func (c *cache) peek(key cacheKey) (item store.Item, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil && e.place != nil {
		return e.item, true
	}
	return store.Item{}, false
}

// fill ends a load. found is false if the item does not exist. fill drops an item that was written during the load, because
// the caller may have read the old version.
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

// wrote updates the cached items that a durable commit wrote.
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
			item.Body = bytes.Clone(item.Body) // the committer may reuse its memory
			c.bytes += size(item) - size(e.item)
			e.item = item
		}
	}
}

// empty drops all entries, loading ones too.
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
