package courier

import (
	"context"
	"time"
)

// Exports for tests of single functions.
var Next = next

func (e *Endpoint) IsHeld(now time.Time) (because string, held bool) {
	return e.held(e.Incarnation, now)
}

func (e *Endpoint) WaitUntil(now time.Time, inHand int) (until time.Time, wait bool) {
	return e.health.waitAlone(now, inHand)
}

func (c *Courier) Renew(ctx context.Context, e *Endpoint) (*Endpoint, error) { return c.renew(ctx, e) }

func (s *Slots) Record(e EndpointKey, o Outcome) { s.record(e, o) }

func (b *Breaker) Done(healthy bool, now time.Time) (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done(healthy, now)
}

func (b *Breaker) Hold(until, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hold(until, now)
}
