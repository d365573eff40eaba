package courier

import (
	"context"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// BreakerOf returns the state of an endpoint's breaker as of now, and its pause, if it has one: see PauseOf.
func (c *Courier) BreakerOf(ctx context.Context, company store.Company, provider, incarnation string) (BreakerState, *delivery.Pause, error) {
	circuit, err := c.circuitOf(ctx, company, provider, incarnation)
	if err != nil {
		return "", nil, err
	}
	now := c.Now()
	if p, ok := circuit.pause(now); ok {
		return circuit.state(now), &p, nil
	}
	return circuit.state(now), nil, nil
}
