package courier

import (
	"context"
	"sync"
	"time"

	"orgops/shared/domain/delivery"
)

// health holds an endpoint's breaker and rate limit. It is kept when the endpoint's configuration changes.
type health struct {
	lease   *lease  // the bounds that this process shares with others; nil: it shares none
	breaker Breaker // of this process, if it shares none
	random  func() float64

	mu       sync.Mutex
	limiter  *Limiter // nil: no limit
	rate     int
	reserved time.Time // the last time that takeToken gave to a waiting delivery
	answered time.Time // when the endpoint last answered an attempt
	judged   time.Time // when it was last due for judgement
}

// ahead limits how far into the future takeToken spreads out waiting deliveries. A delivery that comes back and finds no
// token gets another time.
const ahead = 30 * time.Second

// wait reports whether an attempt must wait, and until when.
func (h *health) wait(ctx context.Context, p Path, budget time.Duration, now time.Time, inHand int) (until time.Time, wait bool) {
	if h.lease == nil {
		return h.waitAlone(now, inHand)
	}
	d := h.demand(p, budget)
	d.inHand = inHand
	until, ok := h.lease.admit(ctx, d)
	return until, !ok
}

// broken reports whether the breaker makes attempts wait.
func (h *health) broken(now time.Time) bool {
	if h.lease == nil {
		return h.breaker.State(now) != BreakerClosed
	}
	return h.lease.broken(now)
}

// leave ends an attempt that wait has allowed and that was not made. Its token is lost.
func (h *health) leave(ctx context.Context) {
	if h.lease == nil {
		h.breaker.leave()
		return
	}
	h.lease.leave(ctx)
}

// lasts returns for how long an attempt may begin after wait has allowed it.
func (h *health) lasts() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rate > 0 {
		return late
	}
	return leadTime
}

// demand returns what an attempt needs.
func (h *health) demand(p Path, budget time.Duration) demand {
	h.mu.Lock()
	defer h.mu.Unlock()
	free := freeRetries
	if p == Feed {
		free = freeFirst
	}
	return demand{rate: h.rate, free: free, budget: budget, spread: h.spread}
}

func (h *health) waitAlone(now time.Time, inHand int) (until time.Time, wait bool) {
	if at, ok := h.takeToken(now, inHand); !ok {
		return at, true
	}
	if ok, at := h.breaker.Allow(now); !ok {
		return at.Add(spillDelay(h.random)), true
	}
	return time.Time{}, false
}

// takeToken takes a token of the rate limit. If no token is free, at is the time to try again. Within ahead, no two
// deliveries get the same time, unless their sender has them in hand and tries them one after the other.
func (h *health) takeToken(now time.Time, inHand int) (at time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limiter == nil {
		return time.Time{}, true
	}
	ok, at = h.limiter.Allow(now)
	if ok || inHand > 0 {
		return at, ok
	}
	return h.spaced(at, now), false
}

// spread returns a later time than at for a delivery that must wait, if deliveries to the endpoint are limited in rate.
func (h *health) spread(at, now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rate == 0 {
		return at
	}
	return h.spaced(at, now)
}

// spaced returns the time for the next waiting delivery, at the rate after the last one. The caller holds the lock.
func (h *health) spaced(at, now time.Time) time.Time {
	if next := h.reserved.Add(time.Second / time.Duration(h.rate)); next.After(at) && next.Sub(now) < ahead {
		at = next
	}
	h.reserved = at
	return at
}

// record applies the outcome of an attempt to the breaker, and reports whether it opened the breaker. An attempt without an
// answer does not count if the endpoint has answered another one meanwhile: the endpoint works, but got more attempts than it
// answers in time. The window shrinks instead.
func (h *health) record(ctx context.Context, o Outcome, began, now time.Time) (opened bool) {
	if answered := h.answers(o, now); o.Status == 0 && answered.After(began) {
		o.Class = Aborted
	}
	if h.lease != nil {
		return h.lease.done(ctx, o)
	}
	if o.Class == Aborted {
		return false
	}
	return h.breaker.record(o, now)
}

// answers notes an answer, and returns when the endpoint last answered.
func (h *health) answers(o Outcome, now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.Status != 0 {
		h.answered = now
	}
	return h.answered
}

type healths struct {
	random func() float64
	lease  func(*Endpoint) *lease // returns nil if the process shares no bounds

	mu    sync.Mutex
	known map[EndpointKey]*health
}

func newHealths(random func() float64, lease func(*Endpoint) *lease) *healths {
	return &healths{random: random, lease: lease, known: map[EndpointKey]*health{}}
}

func (h *healths) of(e *Endpoint, rate int) *health {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := e.Key()
	known := h.known[key]
	if known == nil {
		if len(h.known) >= maxRemembered {
			clear(h.known)
		}
		known = &health{random: h.random, lease: h.lease(e)}
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

// circuit returns the circuit that this process keeps for an endpoint. An unknown circuit is closed.
func (h *healths) circuit(e EndpointKey) circuit {
	b := h.breaker(e)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.circuit
}

// resume ends the pause of an endpoint's breaker, and returns it; ok is false if there was none.
func (h *healths) resume(e EndpointKey, now time.Time) (p delivery.Pause, ok bool) {
	b := h.breaker(e)
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok = b.pause(now); ok {
		b.resume(now)
	}
	return p, ok
}

// breaker returns the breaker of an endpoint, a new one if this process has not sent to it.
func (h *healths) breaker(e EndpointKey) *Breaker {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.known[e]; known != nil {
		return &known.breaker
	}
	return &Breaker{}
}

// judgePause separates two looks at since when an endpoint has been failing. The company's context, which says so, is too large
// to read after every failed attempt.
const judgePause = time.Minute

// DueForJudgement reports whether a failed attempt is reason to look at since when the endpoint has been failing: once in
// judgePause.
func (e *Endpoint) DueForJudgement(now time.Time) bool {
	h := e.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if since := now.Sub(h.judged); since >= 0 && since < judgePause {
		return false
	}
	h.judged = now
	return true
}
