// Package dispatcher delivers committed changes to the subscribed endpoints. It turns each change into events, and each
// event into one delivery for every subscribed endpoint, whose first attempt it asks of package courier.
//
// The dispatcher is also the only writer of the queues: it sends the messages that a change requires (see package outbox).
package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/outbox"
	"orgops/shared/domain/parked"
	"orgops/shared/provider/selecting"
	"orgops/shared/run/boot"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/endpoint"
)

// Dispatcher consumes the change feed. Make one with New; all exported fields are required except Metrics.
type Dispatcher struct {
	Deps

	unpublished unpublished
	outbox      *outbox.Outbox
	selector    selecting.Selector
	turns       wait.Turns[string] // by company
	counter     selecting.Counter
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
	return &Dispatcher{
		Deps: d, lot: parked.Lot{Store: d.Store, Consumer: Consumer, Logger: d.Logger, Metrics: d.Metrics, Now: d.Now},
		outbox: &outbox.Outbox{Store: d.Store, Retries: d.Retries, Syncs: d.Syncs, Notices: d.Notices},
	}
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
	var asked outbox.Messages
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
		if set := d.outbox.Lookout(change, transition); set != nil {
			work.do(ctx, set)
		}
		if transition.BecameHeld() {
			work.do(ctx, func(ctx context.Context) error { return d.release(ctx, change) })
		}
		var events []*selecting.Form
		var err error
		if change.Entity != delivery.Entity || transition.Tells() { // the others cause none, and are the most frequent changes
			events, err = selecting.FormsOf(change, d.Events)
		}
		if err = errors.Join(d.outbox.Add(&asked, change, transition, b.Replay), err); err != nil {
			understood = false
			d.park(ctx, change, err, work)
		}
		d.publish(ctx, change, events, b.Replay, work)
	}
	for _, send := range d.outbox.Sends(asked) { // in the background, so that the next batches need not wait
		work.do(ctx, send)
	}
	return understood
}

// publish submits the deliveries of a change's events, after those of earlier changes of the same record that could not be
// submitted.
func (d *Dispatcher) publish(ctx context.Context, change store.Change, events []*selecting.Form, replay bool, work *tracker) {
	if len(events) == 0 {
		return
	}
	for _, c := range d.unpublished.upTo(change) {
		all := events
		if c.Sequence != change.Sequence {
			all, _ = selecting.FormsOf(c, d.Events) // an event that cannot be made is parked with its change
		}
		if err := d.publishOne(ctx, c, all, replay, work); err != nil {
			d.unpublished.note(change, false)
			work.fail(err)
			return
		}
		d.unpublished.note(c, true)
	}
}

func (d *Dispatcher) publishOne(ctx context.Context, change store.Change, events []*selecting.Form, replay bool, work *tracker) error {
	endpoints, err := d.Courier.Endpoints(ctx, change.Company, names(events)...)
	if err != nil {
		return err
	}
	for _, e := range events {
		for _, endpoint := range endpoints {
			if e.About == endpoint.Provider || !endpoint.Wants(e.Type, change.At) {
				continue
			}
			form, err := e.For(endpoint, d.Now())
			if err != nil {
				d.park(ctx, change, err, work)
				continue
			}
			d.submit(ctx, change, form, endpoint, replay, work)
		}
	}
	return nil
}

func names(events []*selecting.Form) []string {
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
func (d *Dispatcher) submit(ctx context.Context, change store.Change, e *selecting.Form, to *endpoint.Endpoint, replay bool, work *tracker) {
	t := &courier.Task{
		Source: courier.Feed, Company: to.Company, Key: delivery.Key(e.ID, to.Provider), Incarnation: to.Incarnation, Endpoint: to,
		Replayed: replay, Again: replay && d.Now().Sub(change.At) > late,
		Delivery: delivery.Delivery{
			Head:    delivery.Head{EventID: e.ID, Endpoint: to.Provider, Incarnation: to.Incarnation, Event: e.Type, Version: e.Version, CreatedAt: e.Timestamp},
			Payload: e.Payload,
		},
		Done: func(o courier.Outcome) { work.finish(o.Err) },
	}
	if to.Ordered {
		t.Delivery.Line = change.Key
	}
	work.add()
	if to.Filter == "" && to.Transform == "" && (!to.Ordered || !d.turns.IsBusy(change.Company)) {
		d.Courier.Start(ctx, t)
		return
	}
	d.turns.Do(change.Company, func() { d.selected(ctx, t, e, work) })
}

// selected asks for the attempt, unless the endpoint's filter leaves the event out.
func (d *Dispatcher) selected(ctx context.Context, t *courier.Task, e *selecting.Form, work *tracker) {
	to := t.Endpoint
	outcome := d.selector.Apply(ctx, to, &t.Delivery, e.Read)
	if write := d.counter.Count(to, outcome, t.Delivery.HeldDetail, d.Now()); write != nil {
		work.do(ctx, func(ctx context.Context) error {
			if err := write(ctx, d.Now()); err != nil {
				d.Logger.WarnContext(ctx, "counts of a filter not stored; trying again with the next event", "company", to.Company.ID(), "provider", to.Provider, "error", err)
			}
			return nil
		})
	}
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

// sendTimeout bounds what is done in the background, such as one call to a queue.
const sendTimeout = 10 * time.Second

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

// unpublished keeps the changes whose deliveries could not be submitted, because the endpoints could not be read. They are
// redelivered, but a later change of the same record may come first. Its events must then follow those of the earlier one.
type unpublished struct {
	mu   sync.Mutex
	kept []store.Change
}

// maxUnpublished limits the changes. Beyond it, unpublished forgets them all: so many fail only in an outage, in which the
// later changes fail too and are redelivered in order.
const maxUnpublished = 4096

// upTo returns the changes of a record that must be published now: those kept that are earlier than c, and c.
func (u *unpublished) upTo(c store.Change) []store.Change {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := []store.Change{c}
	for _, k := range u.kept {
		if k.Company == c.Company && k.Key == c.Key && k.Version() < c.Version() {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b store.Change) int { return cmp.Compare(a.Version(), b.Version()) })
	return all
}

// note keeps a change, or forgets it once it is published.
func (u *unpublished) note(c store.Change, published bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = slices.DeleteFunc(u.kept, func(k store.Change) bool {
		return k.Company == c.Company && k.Key == c.Key && k.Version() == c.Version()
	})
	if published {
		return
	}
	if len(u.kept) >= maxUnpublished {
		u.kept = nil
	}
	u.kept = append(u.kept, c)
}
