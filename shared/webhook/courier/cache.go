package courier

import (
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// maxRemembered limits the companies in the cache and the homes of bounds. At the limit, the courier drops all
// entries. It costs less to load them again than to track the order of use in every look-up.
const maxRemembered = 10_000

// cache stores the endpoints of companies, and the homes of their bounds. A home stays when its endpoint's configuration changes.
type cache struct {
	fresh time.Duration
	build func(store.Company, string, string) home

	mu    sync.Mutex
	known map[string]remembered
	drops uint64 // number of drops; put refuses a load that began before the last one
	homes map[EndpointKey]home
}

type remembered struct {
	endpoints []*Endpoint
	at        time.Time
}

func newCache(fresh time.Duration, build func(c store.Company, provider, incarnation string) home) *cache {
	return &cache{fresh: fresh, build: build, known: map[string]remembered{}, homes: map[EndpointKey]home{}}
}

// home returns the home of an endpoint's bounds.
func (c *cache) home(company store.Company, provider, incarnation string) home {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := EndpointKey{company.ID(), provider, incarnation}
	h := c.homes[key]
	if h == nil {
		if len(c.homes) >= maxRemembered {
			clear(c.homes)
		}
		h = c.build(company, provider, incarnation)
		c.homes[key] = h
	}
	return h
}

// get returns the endpoints of a company; ok is false if they must be loaded, and put gets the generation then.
func (c *cache) get(company string, now time.Time) (endpoints []*Endpoint, generation uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[company]
	return r.endpoints, c.drops, ok && now.Sub(r.at) <= c.fresh
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
