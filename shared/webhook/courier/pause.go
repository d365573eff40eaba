package courier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// pause returns why the circuit allows no attempts now; ok is false if it does.
func (c *circuit) pause(now time.Time) (p delivery.Pause, ok bool) {
	held, open := now.Before(c.HeldUntil), c.Open > 0 && now.Before(c.OpenUntil)
	switch {
	case held && (!open || !c.OpenUntil.After(c.HeldUntil)):
		return delivery.Pause{Reason: delivery.PausedAsked, Since: c.HeldSince, Until: c.HeldUntil}, true
	case open:
		return delivery.Pause{Reason: delivery.PausedFailing, Since: c.OpenSince, Until: c.OpenUntil}, true
	}
	return delivery.Pause{}, false
}

// resume ends a pause. If attempts have failed, the next one decides.
func (c *circuit) resume(now time.Time) {
	c.HeldUntil, c.HeldSince = time.Time{}, time.Time{}
	if c.Open > 0 {
		c.OpenUntil, c.ProbeUntil = now, time.Time{}
	}
}

// PauseOf returns the pause of an endpoint that gets no attempts now; ok is false if it does. It reads the shared bounds, or the
// breaker of this process if it sends alone.
func (c *Courier) PauseOf(ctx context.Context, company store.Company, provider, incarnation string) (p delivery.Pause, ok bool, err error) {
	circuit, err := c.circuitOf(ctx, company, provider, incarnation)
	p, ok = circuit.pause(c.Now())
	return p, ok, err
}

// circuitOf reads the circuit of an endpoint. A circuit that no process has used lately is closed.
func (c *Courier) circuitOf(ctx context.Context, company store.Company, provider, incarnation string) (circuit, error) {
	if !c.Shared {
		return c.health.circuit(EndpointKey{company.ID(), provider, incarnation}), nil
	}
	b, _, err := readBounds(ctx, company, integration.BoundsKey(provider, incarnation))
	return b.Circuit, err
}

// readBounds reads the shared bounds; version 0: they are not stored.
func readBounds(ctx context.Context, company store.Company, key string) (b sharedBounds, version int64, err error) {
	item, err := company.Get(ctx, key, &b)
	if errors.Is(err, store.ErrNotFound) {
		return sharedBounds{}, 0, nil
	}
	return b, item.Version, err
}

// Resume ends the pause of an endpoint. Other processes notice it within a second. It returns the pause that it has ended; ok is
// false if there was none.
func (c *Courier) Resume(ctx context.Context, company store.Company, provider, incarnation string) (p delivery.Pause, ok bool, err error) {
	if !c.Shared {
		p, ok = c.health.resume(EndpointKey{company.ID(), provider, incarnation}, c.Now())
		return p, ok, nil
	}
	key := integration.BoundsKey(provider, incarnation)
	for range leaseTries {
		b, version, err := readBounds(ctx, company, key)
		if err != nil {
			return p, false, err
		}
		now := c.Now().UTC()
		if p, ok = b.Circuit.pause(now); !ok {
			return p, false, nil
		}
		b.Circuit.resume(now)
		err = company.Commit(ctx, company.Replace(key, integration.BoundsEntity, version, b).Until(b.kept(now)).Quietly())
		if !errors.Is(err, store.ErrConflict) {
			return p, err == nil, err
		}
	}
	return p, false, store.ErrConflict
}

// Pause returns the pause of the endpoint, as far as this process has seen; ok is false if it gets attempts.
func (e *Endpoint) Pause(now time.Time) (p delivery.Pause, ok bool) {
	if e.health == nil {
		return p, false
	}
	if l := e.health.lease; l != nil {
		l.turn <- struct{}{}
		defer func() { <-l.turn }()
		return l.seen.Circuit.pause(now)
	}
	b := &e.health.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pause(now)
}
