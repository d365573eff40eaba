package courier

import (
	"context"
	"errors"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// BreakerOf returns the state of an endpoint's breaker as of now: that of the shared bounds, or that of this process if it
// sends alone. A breaker that no process has used lately is closed.
func (c *Courier) BreakerOf(ctx context.Context, company store.Company, provider, incarnation string) (BreakerState, error) {
	if !c.Shared {
		return c.health.state(EndpointKey{company.ID(), provider, incarnation}, c.Now()), nil
	}
	var b sharedBounds
	if _, err := company.Get(ctx, integration.BoundsKey(provider, incarnation), &b); err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	return b.Circuit.state(c.Now()), nil
}
