package courier

import (
	"context"
	"maps"
	"sync"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/breaker"
	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/post"
)

// home keeps the bounds of one endpoint.
type home interface {
	// admit takes what the attempt of a task needs. Then the attempt must begin by a time; zero: at any time. If ok is false, by is the
	// time to ask again.
	admit(ctx context.Context, t *Task) (by time.Time, ok bool)
	// leave ends an admitted attempt that was not made. Its token is lost.
	leave(ctx context.Context)
	// done ends an admitted attempt that was started at a time. If its result counts, it goes to the breaker. It returns the breaker
	// before and after.
	done(ctx context.Context, r post.Result, started time.Time) (was, is breaker.Circuit)
	// seen returns the bounds: as they are if fresh is true, or else as far as the process has seen, without an error.
	seen(ctx context.Context, fresh bool) (bounds, error)
	// saw takes over the item of the bounds, as a query that began at a time has read it; nil: it could not.
	saw(item *store.Item, at time.Time)
	// change applies a change and stores the bounds if it returns true. It gives the change the time, and the name of this process if the
	// process has no attempt in flight. Under concurrent changes it calls change again.
	change(ctx context.Context, change func(b *bounds, now time.Time, idle string) bool) error

	// judgeable reports whether a failed attempt is reason to look at since when the endpoint has been failing: once in judgePause.
	judgeable(now time.Time) bool
}

// maxRemembered limits the homes that are not in use, and what else is kept of companies and endpoints.
const maxRemembered = 10_000

// homes holds the home of each endpoint's bounds. It stays when the endpoint's configuration changes.
type homes struct {
	mu    sync.Mutex
	known map[endpoint.Key]*used
}

type used struct {
	home
	at time.Time // when it was last asked for
}

// home returns the home of an endpoint's bounds. At the limit, it drops only those without a use for a minute: otherwise the rates and breakers
// of all endpoints would begin again together.
func (c *Courier) home(company store.Company, provider, incarnation string) home {
	c.homes.mu.Lock()
	defer c.homes.mu.Unlock()
	key, now := endpoint.Key{Company: company.ID(), Provider: provider, Incarnation: incarnation}, c.Now()
	u := c.homes.known[key]
	if u == nil {
		if len(c.homes.known) >= maxRemembered {
			maps.DeleteFunc(c.homes.known, func(_ endpoint.Key, u *used) bool { return now.Sub(u.at) >= windowExpires })
		}
		u = &used{home: c.newHome(company, provider, incarnation)}
		c.homes.known[key] = u
	}
	u.at = now
	return u.home
}

func (c *Courier) homeOf(e *endpoint.Endpoint) home {
	return c.home(e.Company, e.Provider, e.Incarnation)
}

// vitals holds what only this process knows of an endpoint.
type vitals struct {
	now    func() time.Time
	random func() float64

	mu       sync.Mutex
	reserved time.Time // the last time that a waiting delivery got
	answered time.Time // when the endpoint last answered an attempt
	judged   time.Time // when it was last looked at since when the endpoint has been failing
}

// ahead limits how far into the future waiting deliveries are spread out. A delivery that comes back and finds no token gets another time.
const ahead = 30 * time.Second

// spaced returns the time for the next waiting delivery, at the rate after the last one. The caller holds the lock.
func (v *vitals) spaced(at, now time.Time, rate int) time.Time {
	if rate == 0 {
		return at
	}
	if next := v.reserved.Add(interval(rate)); next.After(at) && next.Sub(now) < ahead {
		at = next
	}
	v.reserved = at
	return at
}

// counts reports whether a result goes to the breaker. An attempt without an answer does not if the endpoint has answered another one
// meanwhile: the endpoint works, but got more attempts than it answers in time. The window shrinks instead.
func (v *vitals) counts(r post.Result, started time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.Status != 0 {
		v.answered = v.now().UTC()
	}
	return r.Status != 0 || !v.answered.After(started)
}

func (v *vitals) judgeable(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if since := now.Sub(v.judged); since >= 0 && since < judgePause {
		return false
	}
	v.judged = now
	return true
}

// memory is the home of a process that sends alone. It may be lost without harm.
type memory struct {
	vitals
	bounds bounds
}

func (m *memory) admit(_ context.Context, t *Task) (by time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := need{now: m.now(), rate: t.Endpoint.RateLimit, tokens: 1}
	if n.rate > 0 {
		n.lead = burst(n.rate)
	}
	after := m.bounds
	_, until, _, ok := after.take(n)
	switch {
	case ok:
		m.bounds = after
		return time.Time{}, true
	case t.InHand > 0:
		return until, false
	case m.bounds.Circuit.State(n.now) != breaker.Closed:
		return until.Add(spillDelay(m.random)), false
	}
	return m.spaced(until, n.now, n.rate), false
}

// leave ends a probe. An attempt that was allowed while the breaker was closed ends long before a probe begins.
func (m *memory) leave(ctx context.Context) { _ = m.change(ctx, unprobe) }

func (m *memory) done(ctx context.Context, r post.Result, started time.Time) (was, is breaker.Circuit) {
	counts := m.counts(r, started)
	_ = m.change(ctx, func(b *bounds, now time.Time, _ string) bool {
		was = b.Circuit
		if counts {
			b.Circuit.Record(r, now)
		}
		is = b.Circuit
		return counts
	})
	return was, is
}

func (m *memory) seen(context.Context, bool) (bounds, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bounds, nil
}

func (m *memory) saw(*store.Item, time.Time) {} // it has no item

func (m *memory) change(_ context.Context, change func(*bounds, time.Time, string) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if after := m.bounds; change(&after, m.now().UTC(), "") {
		m.bounds = after
	}
	return nil
}

// Breaker returns the state of an endpoint's breaker as of now, and the pause of an endpoint that gets no attempts now; nil if it
// does.
func (c *Courier) Breaker(ctx context.Context, company store.Company, provider, incarnation string) (breaker.State, *delivery.Pause, error) {
	b, err := c.home(company, provider, incarnation).seen(ctx, true)
	if err != nil {
		return "", nil, err
	}
	now := c.Now()
	state := b.Circuit.State(now)
	if p, ok := b.Circuit.Pause(now); ok {
		return state, &p, nil
	}
	return state, nil, nil
}

// Resume ends the pause of an endpoint. Other processes notice it within a second. It returns the pause that it has ended; ok is
// false if there was none.
func (c *Courier) Resume(ctx context.Context, company store.Company, provider, incarnation string) (p delivery.Pause, ok bool, err error) {
	h := c.home(company, provider, incarnation)
	if _, err := h.seen(ctx, true); err != nil {
		return p, false, err
	}
	err = h.change(ctx, func(b *bounds, now time.Time, _ string) bool {
		if p, ok = b.Circuit.Pause(now); ok {
			b.Circuit.Resume(now)
		}
		return ok
	})
	return p, ok && err == nil, err
}

// Pause returns the pause of an endpoint, as far as this process has seen; ok is false if it gets attempts.
func (c *Courier) Pause(e *endpoint.Endpoint) (p delivery.Pause, ok bool) {
	b, _ := c.homeOf(e).seen(context.Background(), false)
	return b.Circuit.Pause(c.Now())
}

// occupied bounds how long a recovery has an endpoint to itself: longer than a run of it and the attempts that the run has begun.
const occupied = 130 * time.Second

// Occupy makes sure that no other recovery sends to the endpoint until end is called. Otherwise the error is store.ErrConflict.
func (c *Courier) Occupy(ctx context.Context, e *endpoint.Endpoint) (end func(), err error) {
	ctx = context.WithoutCancel(ctx)
	h, busy := c.homeOf(e), false
	err = h.change(ctx, func(b *bounds, now time.Time, _ string) bool {
		busy = now.Before(b.Occupied)
		b.Occupied = now.Add(occupied)
		return !busy
	})
	if err == nil && busy {
		err = store.ErrConflict
	}
	return func() {
		err := h.change(ctx, func(b *bounds, _ time.Time, idle string) bool {
			b.Occupied = time.Time{}
			b.yield(idle)
			return true
		})
		if err != nil { // it ends by itself
			c.Logger.WarnContext(ctx, "recovery's hold of its endpoint not ended", "company", e.Company.ID(), "provider", e.Provider, "error", err)
		}
	}, err
}
