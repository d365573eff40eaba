package retrier

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// unwritten sets the wait of a message whose delivery could not be claimed, because the store refuses writes. It does not
// grow, as the wait after an error does, so that a company whose partition was throttled goes on soon.
const unwritten = 20 * time.Second

// working names a delivery in progress.
type working struct{ company, key string }

// deliver makes the due attempt of a delivery. due tells when to redeliver the message; zero means never. The record of a
// failed attempt asks for the next message, as every record of a scheduled delivery does. So all copies of a message end with
// its attempt. again reports that the message was received before.
//
// deliver takes a slot of the endpoint before it reads anything, and the endpoint's admission before it reads the delivery. So a
// message that must wait costs at most the reading of the endpoint, which all messages of an invocation share. A message that
// must wait long, because of the breaker, ends if its delivery has no use for it.
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
	slot := courier.EndpointKey{Company: company.ID(), Provider: delivery.EndpointOf(key), Incarnation: job.Incarnation}
	if !r.Courier.Slots.TryAcquire(slot, courier.Queue) {
		return r.Courier.Slots.ComeBack(slot, r.Courier.SpillDelay()), nil
	}
	release := sync.OnceFunc(func() { r.Courier.Slots.Release(slot, courier.Queue) })
	defer release()
	if !r.pace(ctx, slot) {
		return r.Now(), nil
	}
	finishing := context.WithoutCancel(ctx)
	endpoint, err := r.Courier.Known(finishing, company, slot.Provider)
	if err != nil {
		return time.Time{}, err
	}
	admission, err := r.Courier.Admit(finishing, endpoint, job.Incarnation, courier.Queue, courier.RetryTimeout)
	switch {
	case err != nil:
		return time.Time{}, err
	case !admission.Until.IsZero() && !admission.Broken:
		return admission.Until, nil
	}
	leave := func() { admission.Leave(finishing) }
	defer func() { leave() }()
	o, due, err := r.load(finishing, company, job)
	if err != nil || due.IsZero() || due.After(r.Now()) {
		return due, err
	}
	if admission.Broken {
		return admission.Until, nil
	}
	err = r.ready(finishing, company, key, &o, again)
	switch {
	case !again && errors.Is(err, store.ErrUnavailable):
		return r.Now().Add(unwritten + r.Courier.SpillDelay()), nil
	case err != nil:
		return r.settle(ctx, company, job, err)
	}
	leave = func() {} // from here on, Deliver uses the admission
	result := r.attempt(finishing, admission, &o)
	if failed(result, o.delivery) {
		r.disableFailing(finishing, endpoint)
	}
	release() // the record may take long to write
	switch {
	case result.Attempted:
		err = r.record(ctx, company, key, o)
	case result.State == courier.Deferred:
		return result.Until, nil
	default:
		err = r.store(ctx, company, key, o)
	}
	return r.settle(ctx, company, job, err)
}

// pace waits until the attempt of a slot may begin, or returns false if ctx ends first. A Lambda, which would pay for the wait, does
// not wait.
func (r *Retrier) pace(ctx context.Context, slot courier.EndpointKey) bool {
	if r.Courier.Shared {
		return true
	}
	pause := r.Courier.Slots.Pace(slot)
	return pause == 0 || wait.For(ctx, pause)
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

// ready claims the delivery before its attempt if an earlier attempt may have been made without its record, if records cannot
// be written, or if the delivery stands in a line: a second attempt of it, by a late copy of its message, could arrive after
// the next delivery of the line.
func (r *Retrier) ready(ctx context.Context, company store.Company, key string, o *outcome, again bool) error {
	if again || o.delivery.Line != "" || !r.Courier.Recordable(company.ID()) {
		return r.claim(ctx, company, key, o)
	}
	return nil
}

// attempt delivers. The result is deferred if the endpoint must not be called yet.
func (r *Retrier) attempt(ctx context.Context, a *courier.Admission, o *outcome) courier.Result {
	result := a.Deliver(ctx, &o.delivery)
	if result.Attempted && result.State == courier.Deferred {
		o.delivery.Enqueue(result.Until)
	}
	return result
}

// failed reports whether an attempt was made and failed. After a 410 the endpoint is already disabled, so it does not count.
func failed(result courier.Result, d delivery.Delivery) bool {
	return result.Attempted && d.State != delivery.Delivered && d.State != delivery.Failed
}

// disableFailing disables an endpoint that has failed for too long. The company context records since when it fails.
func (r *Retrier) disableFailing(ctx context.Context, e *courier.Endpoint) {
	if !e.DueForJudgement(r.Now()) {
		return
	}
	c, _, err := projection.Load(ctx, e.Company)
	if err != nil {
		r.Logger.WarnContext(ctx, "company context not read", "company", e.Company.ID(), "error", err)
		return
	}
	if c.Incarnations[e.Provider] != e.Incarnation { // the context does not show the endpoint yet
		return
	}
	r.Courier.DisableFailing(ctx, e, c.Integrations[e.Provider].FailingSince)
}
