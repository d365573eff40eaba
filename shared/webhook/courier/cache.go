package courier

import (
	"sync"
	"time"
)

// maxRemembered limits the companies in the cache and the endpoints in healths. At the limit, the courier drops all
// entries. It costs less to load them again than to track the order of use in every look-up.
const maxRemembered = 10_000

// cache stores the endpoints of companies.
type cache struct {
	fresh time.Duration

	mu    sync.Mutex
	known map[string]remembered
	drops uint64 // number of drops; put refuses a load that began before the last one
}

type remembered struct {
	endpoints []*Endpoint
	at        time.Time
}

func newCache(fresh time.Duration) *cache {
	return &cache{fresh: fresh, known: map[string]remembered{}}
}

func (c *cache) get(company string, now time.Time) ([]*Endpoint, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[company]
	if !ok || now.Sub(r.at) > c.fresh {
		return nil, false
	}
	return r.endpoints, true
}

func (c *cache) generation() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drops
}

// put stores the endpoints from a load that began at generation. It marks the endpoints that it replaces, or does not
// store, as stale.
func (c *cache) put(company string, endpoints []*Endpoint, at time.Time, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == 0 {
		return
	}
	if c.drops != generation {
		expire(endpoints)
		return
	}
	if len(c.known) >= maxRemembered {
		for _, r := range c.known {
			expire(r.endpoints)
		}
		clear(c.known)
	}
	expire(c.known[company].endpoints)
	c.known[company] = remembered{endpoints, at}
}

func (c *cache) drop(company string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	expire(c.known[company].endpoints)
	delete(c.known, company)
}

func expire(endpoints []*Endpoint) {
	for _, e := range endpoints {
		e.stale.Store(true)
	}
}
