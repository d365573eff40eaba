package integrations

import (
	"context"
	"time"

	"orgops/shared/delivery"
	"orgops/shared/fault"
	"orgops/shared/id"
	"orgops/shared/recovery"
	"orgops/shared/store"
	"orgops/shared/web"
)

// RecoverRequest is the window to recover.
type RecoverRequest struct {
	Since time.Time  `json:"since" doc:"events from this time on; deliveries are kept for 30 days" example:"2026-01-01T00:00:00Z"`
	Until *time.Time `json:"until,omitempty" nullable:"true" doc:"events up to this time; left out: now"`
}

// window is the part of the window asked for in which deliveries can be: no older than they are kept, no later than now.
func (b RecoverRequest) window(now time.Time) (since, until time.Time, err error) {
	if b.Since.After(now) {
		return since, until, fault.Refuse([]fault.Problem{{Pointer: "/since", Detail: "must not be in the future"}})
	}
	if b.Until != nil && b.Until.Before(b.Since) {
		return since, until, fault.Refuse([]fault.Problem{{Pointer: "/until", Detail: "must not be before since"}})
	}
	since, until = b.Since.UTC(), now
	if oldest := now.Add(-delivery.Kept); since.Before(oldest) {
		since = oldest
	}
	if b.Until != nil && b.Until.Before(now) {
		until = b.Until.UTC()
	}
	if until.Before(since) {
		until = since
	}
	return since, until, nil
}

type recoverInput struct {
	ProviderInput
	Body RecoverRequest
}

type recoverOutput struct{ Body recovery.Recovery }

// recoverIntegration commits the request; the feed carries it to the queue, and the retrier goes through the window.
func (d Deps) recoverIntegration(ctx context.Context, in *recoverInput) (*recoverOutput, error) {
	if err := d.checkEndpoint(ctx, in.Provider); err != nil {
		return nil, err
	}
	now := d.Now().UTC()
	since, until, err := in.Body.window(now)
	if err != nil {
		return nil, err
	}
	r := recovery.Recovery{
		ID: id.New(), Provider: in.Provider, Since: since, Until: until, State: recovery.Requested,
		RequestedBy: web.CallerOf(ctx).UserID, RequestedAt: now,
	}
	c := web.Tenant(ctx)
	op := c.Create(recovery.Key(r.ID), recovery.Entity, recovery.Record{Recovery: r}).Until(now.Add(recovery.Kept))
	if err := c.Commit(ctx, op); err != nil {
		return nil, store.Fault(err, "")
	}
	return &recoverOutput{r}, nil
}
