package integrations

import (
	"context"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// RecoverRequest sets the time window to recover.
type RecoverRequest struct {
	Since time.Time  `json:"since" doc:"recover events from this time on; deliveries are kept for 30 days" example:"2026-01-01T00:00:00Z"`
	Until *time.Time `json:"until,omitempty" doc:"recover events up to this time; default: now"`
}

type recoverInput struct {
	ProviderInput
	Body RecoverRequest
}

type recoverOutput struct{ Body recovery.Recovery }

// recoverIntegration commits the request. The dispatcher sends the queue message when it receives the change, and the
// retrier processes the window.
func (d Deps) recoverIntegration(ctx context.Context, in *recoverInput) (*recoverOutput, error) {
	endpoint, err := d.endpoint(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	now := d.Now().UTC()
	since, until, err := recovery.Clamp(in.Body.Since, in.Body.Until, now)
	if err != nil {
		return nil, err
	}
	r := recovery.Recovery{
		ID: id.New(), Provider: in.Provider, Since: since, Until: until, State: recovery.Requested,
		RequestedBy: web.CallerOf(ctx).UserID, RequestedAt: now,
	}
	c := web.Tenant(ctx)
	if err := c.Commit(ctx, r.Request(c, endpoint.Incarnation)); err != nil {
		return nil, store.Fault(err, "")
	}
	return &recoverOutput{r}, nil
}
