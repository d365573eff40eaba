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

// deliver makes the due attempt of a delivery. due tells when the next attempt is due; zero means never. If another message
// of the delivery is in progress, deliver does not read the record, but returns a later time. Otherwise it might read the
// record before the other attempt is stored, and attempt the delivery a second time.
func (r *Retrier) deliver(ctx context.Context, company store.Company, key string, generation int) (due time.Time, err error) {
	id := working{company.ID(), key}
	if _, busy := r.working.LoadOrStore(id, true); busy {
		return r.Now().Add(r.Courier.SpillDelay()), nil
	}
	defer r.working.Delete(id)
	var d delivery.Delivery
	item, err := company.Get(ctx, key, &d)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if !d.Open() || d.Generation != generation { // settled, or a later generation has its own message
		return time.Time{}, nil
	}
	if d.NextAttemptAt.After(r.Now()) {
		return *d.NextAttemptAt, nil
	}
	endpoint, err := r.Courier.Endpoint(ctx, company, d.Endpoint)
	if err != nil {
		return time.Time{}, err
	}
	return r.attempt(ctx, endpoint, key, item.Version, d)
}

// attempt takes a slot and delivers. It returns a later time if no slot is free or the endpoint must not be called yet.
func (r *Retrier) attempt(ctx context.Context, e *courier.Endpoint, key string, version int64, d delivery.Delivery) (time.Time, error) {
	if !r.slots.TryAcquire(e.Key()) {
		return r.Now().Add(r.Courier.SpillDelay()), nil
	}
	defer r.slots.Release(e.Key())
	result, err := r.Courier.Deliver(ctx, e, &d, courier.RetryTimeout)
	if err != nil {
		return time.Time{}, err
	}
	if result.State == courier.Deferred {
		if !result.Attempted {
			return result.Until, nil
		}
		d.Postpone(result.Until)
	}
	if result.Attempted && d.State != delivery.Delivered && d.State != delivery.Failed { // after a 410 the endpoint is already disabled
		r.disableFailing(ctx, e)
	}
	return r.store(ctx, e.Company, key, version, d)
}

// store writes the delivery. After a conflicting write it returns now, so that the message is handled again with the new
// record.
func (r *Retrier) store(ctx context.Context, company store.Company, key string, version int64, d delivery.Delivery) (time.Time, error) {
	err := company.Commit(ctx, company.Replace(key, delivery.Entity, version, d).Until(d.Expires()))
	if errors.Is(err, store.ErrConflict) {
		return r.Now(), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	r.Courier.Stored(&d)
	if d.NextAttemptAt == nil {
		return time.Time{}, nil
	}
	return *d.NextAttemptAt, nil
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
