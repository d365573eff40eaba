package integrations

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// RecoverRequest sets the time window to recover.
type RecoverRequest struct {
	Since time.Time  `json:"since" doc:"recover events from this time on; deliveries are kept for 30 days" example:"2026-01-01T00:00:00Z"`
	Until *time.Time `json:"until,omitempty" doc:"recover events up to this time; default: now"`
}

// window returns the requested window. It moves the start to the age at which deliveries expire, and the end to now, if the
// request exceeds them.
func (b RecoverRequest) window(now time.Time) (since, until time.Time, err error) {
	if b.Since.After(now) {
		return since, until, fault.Refuse([]fault.FieldError{{Pointer: "/since", Detail: "must not be in the future"}})
	}
	if b.Until != nil && b.Until.Before(b.Since) {
		return since, until, fault.Refuse([]fault.FieldError{{Pointer: "/until", Detail: "must not be before since"}})
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

type recoverOutput struct{ Body delivery.Recovery }

// recoverIntegration commits the request. The dispatcher sends the queue message when it receives the change, and the
// retrier processes the window.
func (d Deps) recoverIntegration(ctx context.Context, in *recoverInput) (*recoverOutput, error) {
	if err := d.checkEndpoint(ctx, in.Provider); err != nil {
		return nil, err
	}
	now := d.Now().UTC()
	since, until, err := in.Body.window(now)
	if err != nil {
		return nil, err
	}
	r := delivery.Recovery{
		ID: id.New(), Provider: in.Provider, Since: since, Until: until, State: delivery.RecoveryRequested,
		RequestedBy: web.CallerOf(ctx).UserID, RequestedAt: now,
	}
	c := web.Tenant(ctx)
	op := c.Create(delivery.RecoveryKey(r.ID), delivery.RecoveryEntity, delivery.StoredRecovery{Recovery: r}).Until(now.Add(delivery.Kept))
	if err := c.Commit(ctx, op); err != nil {
		return nil, store.Fault(err, "")
	}
	return &recoverOutput{r}, nil
}
