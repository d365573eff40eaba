package courier

import (
	"sync"
	"time"
)

// health holds an endpoint's breaker and rate limit in this process. It is kept when the endpoint's configuration changes.
type health struct {
	breaker Breaker
	random  func() float64

	mu       sync.Mutex
	limiter  *Limiter // nil: no limit
	rate     int
	reserved time.Time // the last time that takeToken gave to a waiting delivery
}

// ahead limits how far into the future takeToken spreads out waiting deliveries. A delivery that comes back and finds no
// token gets another time.
const ahead = 30 * time.Second

func (h *health) wait(now time.Time) (until time.Time, wait bool) {
	if at, ok := h.takeToken(now); !ok {
		return at, true
	}
	if ok, at := h.breaker.Allow(now); !ok {
		return at.Add(spillDelay(h.random)), true
	}
	return time.Time{}, false
}

// takeToken takes a token of the rate limit. If no token is free, at is the time to try again. Within ahead, no two
// deliveries get the same time.
func (h *health) takeToken(now time.Time) (at time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limiter == nil {
		return time.Time{}, true
	}
	ok, at = h.limiter.Allow(now)
	if ok {
		return time.Time{}, true
	}
	if next := h.reserved.Add(time.Second / time.Duration(h.rate)); next.After(at) && next.Sub(now) < ahead {
		at = next
	}
	h.reserved = at
	return at, false
}

// record applies an outcome to the breaker, and reports whether it opened the breaker.
func (h *health) record(o Outcome, now time.Time) (opened bool) {
	if o.Class == Aborted {
		return false
	}
	opened = h.breaker.Done(o.Healthy(), now)
	if o.Class == Throttled && o.RetryAfter > 0 {
		h.breaker.Hold(now.Add(o.RetryAfter), now)
	}
	return opened
}

type healths struct {
	random func() float64

	mu    sync.Mutex
	known map[string]*health
}

func newHealths(random func() float64) *healths {
	return &healths{random: random, known: map[string]*health{}}
}

func (h *healths) of(company, provider string, rate int) *health {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := company + "/" + provider
	known := h.known[key]
	if known == nil {
		if len(h.known) >= maxRemembered {
			clear(h.known)
		}
		known = &health{random: h.random}
		h.known[key] = known
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.rate != rate {
		known.rate, known.limiter = rate, nil
		if rate > 0 {
			known.limiter = NewLimiter(rate)
		}
	}
	return known
}
