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

// deliver makes the due attempt of a delivery. due tells when to redeliver the message; zero means never. The record of a
// failed attempt asks for the next message, as every record of a scheduled delivery does. So all copies of a message end with
// its attempt. again reports that the message was received before.
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
		return r.settle(ctx, company, job, r.record(ctx, company, key, o))
	}
	finishing := context.WithoutCancel(ctx)
	o, due, err := r.load(finishing, company, job)
	if err != nil || due.IsZero() || due.After(r.Now()) {
		return due, err
	}
	endpoint, err := r.Courier.Endpoint(finishing, company, o.delivery.Endpoint)
	if err != nil {
		return time.Time{}, err
	}
	result, err := r.attempt(finishing, endpoint, key, &o, again)
	switch {
	case err != nil:
	case result.Attempted:
		err = r.record(ctx, company, key, o)
	case result.State == courier.Deferred:
		return result.Until, nil
	default:
		err = r.store(ctx, company, key, o)
	}
	return r.settle(ctx, company, job, err)
}

// load reads the delivery of a job. due tells when its next attempt is due; zero means that the job has no effect any more.
func (r *Retrier) load(ctx context.Context, company store.Company, job delivery.Job) (o outcome, due time.Time, err error) {
	item, err := company.Get(ctx, delivery.Prefix+job.Delivery, &o.delivery)
	if errors.Is(err, store.ErrNotFound) {
		return outcome{}, time.Time{}, nil
	}
	if err != nil {
		return outcome{}, time.Time{}, err
	}
	if !o.delivery.Open() || o.delivery.Generation != job.Generation { // settled, or a later generation has its own message
		return outcome{}, time.Time{}, nil
	}
	o.version = item.Version
	return o, *o.delivery.NextAttemptAt, nil
}

// settle returns when to redeliver a message after a write of its delivery: never after a success, because the record has
// its own message if another attempt is due. After a conflicting write, settle reads the record again. If another message's
// attempt is counted, this message has no effect any more. Otherwise another message has claimed the delivery, and this one
// waits.
func (r *Retrier) settle(ctx context.Context, company store.Company, job delivery.Job, written error) (due time.Time, err error) {
	if !errors.Is(written, store.ErrConflict) {
		return time.Time{}, written
	}
	_, due, err = r.load(context.WithoutCancel(ctx), company, job)
	if !due.IsZero() && !due.After(r.Now()) {
		due = r.Now().Add(r.Courier.SpillDelay())
	}
	return due, err
}

// attempt takes a slot and delivers. The result is deferred if no slot is free or the endpoint must not be called yet. If an
// earlier attempt may have been made without its record, or records cannot be written, attempt first claims the delivery.
func (r *Retrier) attempt(ctx context.Context, e *courier.Endpoint, key string, o *outcome, again bool) (courier.Result, error) {
	if !r.Courier.Slots.TryAcquire(e.Key(), courier.Queue) {
		return courier.Result{State: courier.Deferred, Until: r.Now().Add(r.Courier.SpillDelay())}, nil
	}
	defer r.Courier.Slots.Release(e.Key(), courier.Queue)
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
		d.Enqueue(result.Until)
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
