package retrier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/courier"
	"orgops/shared/delivery"
	"orgops/shared/fault"
	"orgops/shared/projection"
	"orgops/shared/store"
	"orgops/shared/webhook"
)

// working names a delivery that a message is worked on for.
type working struct{ company, key string }

// deliver makes the attempt that a delivery is due for. due is when its next one is; zero when there is none. It reads
// the record when no other message is worked on for the delivery: one that was read during another's attempt would be
// attempted once more.
func (r *Retrier) deliver(ctx context.Context, company store.Company, key string, request int) (due time.Time, err error) {
	id := working{company.ID(), key}
	if _, busy := r.working.LoadOrStore(id, true); busy {
		return r.Now().Add(courier.SpillDelay()), nil
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
	if !d.Open() || d.Requests != request { // settled already, or a later request has a message of its own
		return time.Time{}, nil
	}
	now := r.Now()
	if d.NextAttemptAt.After(now) {
		return *d.NextAttemptAt, nil
	}
	endpoint, err := r.Courier.Endpoint(ctx, company, d.Endpoint)
	if fault.KindOf(err) == fault.NotFound {
		d.Hold("deleted")
		return r.store(ctx, company, key, item.Version, d)
	}
	if err != nil {
		return time.Time{}, err
	}
	if because, held := endpoint.Held(now); held {
		d.Hold(because)
		return r.store(ctx, company, key, item.Version, d)
	}
	return r.attempt(ctx, endpoint, key, item.Version, d)
}

// attempt takes a slot and attempts; without a slot, or where the endpoint must be left alone, it comes back later.
func (r *Retrier) attempt(ctx context.Context, e *courier.Endpoint, key string, version int64, d delivery.Delivery) (time.Time, error) {
	if !r.lanes.TryAcquire(e.Company.ID(), e.Provider) {
		return r.Now().Add(courier.SpillDelay()), nil
	}
	defer r.lanes.Release(e.Company.ID(), e.Provider)
	if until, wait := e.Wait(r.Now()); wait {
		return until, nil
	}
	if !r.Courier.Attempt(ctx, e, &d, webhook.RetryTimeout) && d.State != delivery.Failed { // a refusal has disabled it already
		r.disableFailing(ctx, e)
	}
	return r.store(ctx, e.Company, key, version, d)
}

// store writes the delivery. When somebody else did in between, the message looks at what it has become.
func (r *Retrier) store(ctx context.Context, company store.Company, key string, version int64, d delivery.Delivery) (time.Time, error) {
	err := company.Commit(ctx, company.Replace(key, delivery.Entity, version, d).Until(d.CreatedAt.Add(delivery.Kept)))
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

// disableFailing turns an endpoint off that nothing has reached for too long. Since when, the context knows.
func (r *Retrier) disableFailing(ctx context.Context, e *courier.Endpoint) {
	c, _, err := projection.Load(ctx, e.Company)
	if err != nil {
		r.Logger.WarnContext(ctx, "read context", "company", e.Company.ID(), "error", err)
		return
	}
	r.Courier.DisableFailing(ctx, e, c.Integrations[e.Provider].FailingSince)
}
