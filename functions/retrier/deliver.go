package retrier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// working names a delivery in progress.
type working struct{ company, key string }

// deliver makes the due attempt of a delivery. due tells when the next attempt is due; zero means never. again reports that
// the message was received before.
//
// If another message of the delivery is in progress, deliver does not read the record, but returns a later time. Otherwise
// it might read the record before the other attempt is stored, and attempt the delivery a second time. If an earlier attempt
// could not be recorded, deliver records it and makes none.
//
// The end of ctx stops only the wait between tries to record an attempt: an attempt in flight is finished and recorded during
// shutdown.
func (r *Retrier) deliver(ctx context.Context, company store.Company, job delivery.Job, again bool) (due time.Time, err error) {
	key := delivery.Prefix + job.Delivery
	id := working{company.ID(), key}
	if _, busy := r.working.LoadOrStore(id, true); busy {
		return r.Now().Add(r.Courier.SpillDelay()), nil
	}
	defer r.working.Delete(id)
	if o, ok := r.kept.take(id); ok {
		return r.record(ctx, company, key, o)
	}
	finishing := context.WithoutCancel(ctx)
	var d delivery.Delivery
	item, err := company.Get(finishing, key, &d)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if !d.Open() || d.Generation != job.Generation { // settled, or a later generation has its own message
		return time.Time{}, nil
	}
	if d.NextAttemptAt.After(r.Now()) {
		return *d.NextAttemptAt, nil
	}
	endpoint, err := r.Courier.Endpoint(finishing, company, d.Endpoint)
	if err != nil {
		return time.Time{}, err
	}
	o := outcome{item.Version, d}
	result, err := r.attempt(finishing, endpoint, key, &o, again)
	switch {
	case errors.Is(err, store.ErrConflict): // another message claimed the delivery
		return r.Now().Add(r.Courier.SpillDelay()), nil
	case err != nil:
		return time.Time{}, err
	case result.Attempted:
		return r.record(ctx, company, key, o)
	case result.State == courier.Deferred:
		return result.Until, nil
	}
	return r.store(ctx, company, key, o)
}

// attempt takes a slot and delivers. The result is deferred if no slot is free or the endpoint must not be called yet. If an
// earlier attempt may have been made without its record, or records cannot be written, attempt first claims the delivery.
func (r *Retrier) attempt(ctx context.Context, e *courier.Endpoint, key string, o *outcome, again bool) (courier.Result, error) {
	if !r.slots.TryAcquire(e.Key()) {
		return courier.Result{State: courier.Deferred, Until: r.Now().Add(r.Courier.SpillDelay())}, nil
	}
	defer r.slots.Release(e.Key())
	if again || !r.Courier.Recordable(e.Company.ID()) {
		if err := r.claim(ctx, e.Company, key, o); err != nil {
			return courier.Result{}, err
		}
	}
	d := &o.delivery
	result, err := r.Courier.Deliver(ctx, e, d, courier.RetryTimeout)
	if err != nil || !result.Attempted {
		return result, err
	}
	if result.State == courier.Deferred {
		d.Postpone(result.Until)
	}
	if d.State != delivery.Delivered && d.State != delivery.Failed { // after a 410 the endpoint is already disabled
		r.disableFailing(ctx, e)
	}
	return result, nil
}

// disableFailing disables an endpoint that has failed for too long. The company context records since when it fails.
func (r *Retrier) disableFailing(ctx context.Context, e *courier.Endpoint) {
	c, _, err := projection.Load(ctx, e.Company)
	if err != nil {
		r.Logger.WarnContext(ctx, "company context not read", "company", e.Company.ID(), "error", err)
		return
	}
	r.Courier.DisableFailing(ctx, e, c.Integrations[e.Provider].FailingSince)
}
