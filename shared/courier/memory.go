package courier

import (
	"sync"
	"time"

	"orgops/shared/webhook"
)

// maxRemembered bounds both memories, in companies and in endpoints. Past it all is dropped: it costs a load each to
// have it again, and keeping the order of use would cost every look-up.
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

// put remembers what a load that began at turn has found. What it replaces, or may not remember, is stale.
func (c *cache) put(company string, endpoints []*Endpoint, at time.Time, turn uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == 0 {
		return
	}
	if c.drops != turn {
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

// health is what this process saw an endpoint do lately. It outlives the endpoint's configuration.
type health struct {
	breaker webhook.Breaker

	mu      sync.Mutex
	limiter *webhook.Limiter // nil: no limit
	rate    int
	turn    time.Time // the last one that somebody was told to wait for
}

// ahead is how far ahead turns are given out under a rate. Those who come back in vain are given another.
const ahead = 30 * time.Second

func (h *health) wait(now time.Time) (until time.Time, wait bool) {
	if at, ok := h.take(now); !ok {
		return at, true
	}
	if ok, at := h.breaker.Allow(now); !ok {
		return at.Add(SpillDelay()), true
	}
	return time.Time{}, false
}

// take takes a turn under the rate. If there is none now, at is one that nobody else was told of.
func (h *health) take(now time.Time) (at time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limiter == nil {
		return time.Time{}, true
	}
	ok, at = h.limiter.Allow(now)
	if ok {
		return time.Time{}, true
	}
	if next := h.turn.Add(time.Second / time.Duration(h.rate)); next.After(at) && next.Sub(now) < ahead {
		at = next
	}
	h.turn = at
	return at, false
}

// heed reports whether the outcome has opened the endpoint's breaker.
func (h *health) heed(o webhook.Outcome, now time.Time) (opened bool) {
	if o.Class == webhook.Aborted {
		return false
	}
	opened = h.breaker.Done(o.Healthy(), now)
	if o.Class == webhook.Throttled && o.RetryAfter > 0 {
		h.breaker.Hold(now.Add(o.RetryAfter), now)
	}
	return opened
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
