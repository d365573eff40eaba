// Package dispatcher delivers committed changes to the subscribed endpoints. It turns each change into events, and each
// event into one delivery for every subscribed endpoint, whose first attempt it asks of package courier.
//
// The dispatcher is also the only writer of the queues. A delivery that is due later, a requested sync run, or a notice is first
// committed as a record. The dispatcher sends the queue message when it receives that change.
package dispatcher

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/parked"
	"orgops/shared/provider/selecting"
	"orgops/shared/run/boot"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// Dispatcher consumes the change feed. Make one with New; all exported fields are required except Metrics.
type Dispatcher struct {
	Deps

	unpublished unpublished
	done        done // by idOf a change, timer, and a failing endpoint's hour
	selector    selecting.Selector
	turns       wait.Turns[string] // by company
	counts      counts
	lot         parked.Lot
}

// Deps holds what a Dispatcher works with.
type Deps struct {
	Store   store.Store
	Courier *courier.Courier
	Retries queue.Queue // deliveries that are due later, and recoveries
	Syncs   queue.Queue // sync runs
	Notices queue.Queue // what people are told
	Logger  *slog.Logger
	Metrics *metric.Recorder // nil: no metrics are recorded
	Now     func() time.Time
	Events  event.Table // nil: the service's
}

// Consumer names the dispatcher at the feed.
const Consumer = "dispatcher"

// New makes a dispatcher; Run starts it.
func New(d Deps) *Dispatcher {
	if d.Events == nil {
		d.Events = event.Kinds()
	}
	return &Dispatcher{Deps: d, lot: parked.Lot{Store: d.Store, Consumer: Consumer, Logger: d.Logger, Metrics: d.Metrics, Now: d.Now}}
}

// From makes a dispatcher from the service's parts.
func From(s *boot.Services) *Dispatcher {
	return New(Deps{
		Store: s.Store, Courier: s.Courier(), Retries: s.Retries, Syncs: s.Syncs, Notices: s.Notices, Logger: s.Logger, Metrics: s.Metrics, Now: s.Now,
	})
}

// Run consumes the feed until ctx ends or the feed fails, then finishes the attempts in flight.
func (d *Dispatcher) Run(ctx context.Context, feed store.Feed) error {
	return d.Courier.Serve(ctx, func(ctx context.Context) error { return feed.Consume(ctx, Consumer, d.Handle) })
}

// Handle starts the work of a batch and returns. It calls done when all results are recorded.
func (d *Dispatcher) Handle(ctx context.Context, b store.Batch, done func(error)) {
	ctx = context.WithoutCancel(ctx) // an attempt in flight is finished and recorded during shutdown
	work := &tracker{done: done}
	work.add()
	d.begin(ctx, b, work)
	work.finish(nil)
}

// begin starts the work of a batch. It parks the changes that it does not understand: a retry would fail the same way and
// block the feed. understood is false if it parked one.
func (d *Dispatcher) begin(ctx context.Context, b store.Batch, work *tracker) (understood bool) {
	var asked messages
	understood = true
	for _, change := range b.Changes {
		switch change.Entity {
		case parked.Entity:
			d.again(ctx, change, work)
			continue
		case integration.Entity:
			d.Courier.Forget(change.Company)
		}
		transition := delivery.TransitionOf(change)
		d.lookOut(ctx, change, transition, work)
		if transition.BecameHeld() {
			work.do(ctx, func(ctx context.Context) error { return d.release(ctx, change) })
		}
		var events []*form
		var err error
		if change.Entity != delivery.Entity || transition.Tells() { // the others cause none, and are the most frequent changes
			events, err = d.formsOf(change)
		}
		if !b.Replay || !d.done.has(idOf(change)) {
			err = errors.Join(asked.add(change, transition), err)
			if transition.Unselected() {
				err = errors.Join(asked.addFailing(change, &d.done), err)
			}
		}
		if err != nil {
			understood = false
			d.park(ctx, change, err, work)
		}
		d.publish(ctx, change, events, b.Replay, work)
	}
	d.send(ctx, asked, work)
	return understood
}

// publish submits the deliveries of a change's events, after those of earlier changes of the same record that could not be
// submitted.
func (d *Dispatcher) publish(ctx context.Context, change store.Change, events []*form, replay bool, work *tracker) {
	if len(events) == 0 {
		return
	}
	for _, c := range d.unpublished.upTo(change) {
		all := events
		if c.Sequence != change.Sequence {
			all, _ = d.formsOf(c) // an event that cannot be made is parked with its change
		}
		if err := d.publishOne(ctx, c, all, replay, work); err != nil {
			d.unpublished.note(change, false)
			work.fail(err)
			return
		}
		d.unpublished.note(c, true)
	}
}

func (d *Dispatcher) publishOne(ctx context.Context, change store.Change, events []*form, replay bool, work *tracker) error {
	endpoints, err := d.Courier.Endpoints(ctx, change.Company, names(events)...)
	if err != nil {
		return err
	}
	for _, e := range events {
		for _, endpoint := range endpoints {
			if e.About == endpoint.Provider || !endpoint.Wants(e.Type, change.At) {
				continue
			}
			form, err := d.formFor(e, endpoint)
			if err != nil {
				d.park(ctx, change, err, work)
				continue
			}
			d.submit(ctx, change, form, endpoint, replay, work)
		}
	}
	return nil
}

func names(events []*form) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Type
	}
	return names
}

// late is the age from which a replayed change counts as tried before. An earlier process may then have made the attempt
// without recording it, so the delivery is recorded before its next attempt. It is shorter than the time for which a Lambda
// retries a write to a store that is away before the change is redelivered, and longer than the stream's usual delay.
const late = time.Minute

// submit asks for the first attempt of an event's delivery to an endpoint. A filter or a transformation is evaluated in the background, in
// its company's turn, because those of many endpoints take longer than the feed may wait. An ordered endpoint without one stays behind
// what it got while it had one.
func (d *Dispatcher) submit(ctx context.Context, change store.Change, e *form, to *courier.Endpoint, replay bool, work *tracker) {
	t := &courier.Task{
		Source: courier.Feed, Company: to.Company, Key: delivery.Key(e.ID, to.Provider), Incarnation: to.Incarnation, Endpoint: to,
		Subject: change.Key, Replayed: replay, Again: replay && d.Now().Sub(change.At) > late,
		Delivery: delivery.Delivery{
			Head:    delivery.Head{EventID: e.ID, Endpoint: to.Provider, Incarnation: to.Incarnation, Event: e.Type, Version: e.version, CreatedAt: e.Timestamp},
			Payload: e.payload,
		},
		Done: func(o courier.Outcome) { work.finish(o.Err) },
	}
	work.add()
	if to.Filter == "" && to.Transform == "" && (!to.Ordered || !d.turns.IsBusy(change.Company)) {
		d.Courier.Start(ctx, t)
		return
	}
	d.turns.Do(change.Company, func() { d.selected(ctx, t, e, work) })
}

// selected asks for the attempt, unless the endpoint's filter leaves the event out.
func (d *Dispatcher) selected(ctx context.Context, t *courier.Task, e *form, work *tracker) {
	outcome := d.selector.Apply(ctx, t.Endpoint, &t.Delivery, e.read)
	d.count(ctx, t.Endpoint, outcome, t.Delivery.HeldDetail, work)
	if outcome == selecting.Filtered {
		d.Courier.Skip(t)
		work.finish(nil)
		return
	}
	d.Courier.Start(ctx, t)
}

// tracker calls done when all added work is finished, with the first error.
type tracker struct {
	pending atomic.Int64
	err     atomic.Pointer[error]
	done    func(error)
}

func (t *tracker) add() { t.pending.Add(1) }

// do adds work that is done in the background.
func (t *tracker) do(ctx context.Context, work func(context.Context) error) {
	t.add()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, sendTimeout)
		defer cancel()
		t.finish(work(ctx))
	}()
}

func (t *tracker) fail(err error) { t.err.CompareAndSwap(nil, &err) }

func (t *tracker) finish(err error) {
	if err != nil {
		t.fail(err)
	}
	if t.pending.Add(-1) > 0 {
		return
	}
	if first := t.err.Load(); first != nil {
		err = *first
	}
	t.done(err)
}
