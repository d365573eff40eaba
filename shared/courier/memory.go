package courier

import (
	"sync"
	"time"

	"orgops/shared/webhook"
)

// maxRemembered bounds both memories; past it the oldest half-lives are not worth keeping order for, so all is dropped.
const maxRemembered = 10_000

// cache remembers companies' endpoints.
type cache struct {
	fresh time.Duration

	mu    sync.Mutex
	known map[string]remembered
	drops uint64 // a load that began before a drop is not remembered after it
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

func (c *cache) turn() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drops
}

func (c *cache) put(company string, endpoints []*Endpoint, at time.Time, turn uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == 0 || c.drops != turn {
		return
	}
	if len(c.known) >= maxRemembered {
		clear(c.known)
	}
	c.known[company] = remembered{endpoints, at}
}

func (c *cache) drop(company string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	delete(c.known, company)
}

// health is what this process saw an endpoint do lately. It outlives the endpoint's configuration.
type health struct {
	breaker webhook.Breaker

	mu      sync.Mutex
	limiter *webhook.Limiter // nil: no limit
	rate    int
}

func (h *health) wait(now time.Time) (time.Time, bool) {
	h.mu.Lock()
	limiter := h.limiter
	h.mu.Unlock()
	if limiter != nil {
		if ok, at := limiter.Allow(now); !ok {
			return at, true
		}
	}
	ok, at := h.breaker.Allow(now)
	return at, !ok
}

func (h *health) heed(o webhook.Outcome, now time.Time) {
	if o.Class == webhook.Aborted {
		return
	}
	h.breaker.Done(o.Healthy(), now)
	if o.Class == webhook.Throttled && o.RetryAfter > 0 {
		h.breaker.Hold(now.Add(o.RetryAfter), now)
	}
}

type healths struct {
	mu    sync.Mutex
	known map[string]*health
}

func newHealths() *healths { return &healths{known: map[string]*health{}} }

func (h *healths) of(company, provider string, rate int) *health {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := company + "/" + provider
	known := h.known[key]
	if known == nil {
		if len(h.known) >= maxRemembered {
			clear(h.known)
		}
		known = &health{}
		h.known[key] = known
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.rate != rate {
		known.rate, known.limiter = rate, nil
		if rate > 0 {
			known.limiter = webhook.NewLimiter(rate)
		}
	}
	return known
}
