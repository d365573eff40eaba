package courier

import (
	"context"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// Breaker returns the state of an endpoint's breaker as of now, and the pause of an endpoint that gets no attempts now; nil if it
// does.
func (c *Courier) Breaker(ctx context.Context, company store.Company, provider, incarnation string) (BreakerState, *delivery.Pause, error) {
	b, err := c.known.home(company, provider, incarnation).read(ctx)
	if err != nil {
		return "", nil, err
	}
	now := c.Now()
	state := b.Circuit.state(now)
	if p, ok := b.Circuit.pause(now); ok {
		return state, &p, nil
	}
	return state, nil, nil
}

// Resume ends the pause of an endpoint. Other processes notice it within a second. It returns the pause that it has ended; ok is
// false if there was none.
func (c *Courier) Resume(ctx context.Context, company store.Company, provider, incarnation string) (p delivery.Pause, ok bool, err error) {
	h := c.known.home(company, provider, incarnation)
	if _, err := h.read(ctx); err != nil {
		return p, false, err
	}
	err = h.change(ctx, func(b *bounds, now time.Time, _ string) bool {
		if p, ok = b.Circuit.pause(now); ok {
			b.Circuit.resume(now)
		}
		return ok
	})
	return p, ok && err == nil, err
}

// Pause returns the pause of the endpoint, as far as this process has seen; ok is false if it gets attempts.
func (e *Endpoint) Pause(now time.Time) (p delivery.Pause, ok bool) {
	if e.home == nil {
		return p, false
	}
	return e.home.seen().Circuit.pause(now)
}

// occupied bounds how long a recovery has an endpoint to itself: longer than a run of it and the attempts that the run has begun.
const occupied = 130 * time.Second

// Occupy makes sure that no other recovery sends to the endpoint until end is called. Otherwise the error is store.ErrConflict.
func (c *Courier) Occupy(ctx context.Context, e *Endpoint) (end func(), err error) {
	ctx = context.WithoutCancel(ctx)
	busy := false
	err = e.home.change(ctx, func(b *bounds, now time.Time, _ string) bool {
		busy = now.Before(b.Occupied)
		b.Occupied = now.Add(occupied)
		return !busy
	})
	if err == nil && busy {
		err = store.ErrConflict
	}
	return func() {
		err := e.home.change(ctx, func(b *bounds, _ time.Time, idle string) bool {
			b.Occupied = time.Time{}
			b.yield(idle)
			return true
		})
		if err != nil { // it ends by itself
			c.Logger.WarnContext(ctx, "recovery's hold of its endpoint not ended", "company", e.Company.ID(), "provider", e.Provider, "error", err)
		}
	}, err
}
