// Package dispatcher carries committed changes to those who asked for them: it turns each change into its events, each
// event into a delivery for every subscribed endpoint, and makes the first attempt. What fails goes into the queue.
//
// It is also the only writer of the queues: a delivery or a sync run that is due to be worked on is a committed record
// first, and its queue message follows from the change.
package dispatcher

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/courier"
	"orgops/shared/delivery"
	"orgops/shared/event"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/metric"
	"orgops/shared/queue"
	"orgops/shared/store"
	"orgops/shared/webhook"
)

// Dispatcher is the consumer. All exported fields are required; make one with New.
type Dispatcher struct {
	Deps
	lanes   *lanes
	records *recorder
	timeout time.Duration // of an attempt
}

// Deps is what a Dispatcher works with.
type Deps struct {
	Store   store.Store
	Courier *courier.Courier
	Retries queue.Queue // deliveries that are due later, and recoveries
	Syncs   queue.Queue // sync runs
	Logger  *slog.Logger
	Metrics *metric.Recorder // nil: nothing is measured
	Now     func() time.Time
	// Separate writes each delivery's record by itself. A store that syncs a commit to disk takes many in one transaction;
	// one that charges for writes charges twice for those of a transaction.
	Separate bool
}

// Consumer is the dispatcher's name at the feed.
const Consumer = "dispatcher"

// New is a dispatcher at rest.
func New(d Deps) *Dispatcher {
	return &Dispatcher{
		Deps: d, lanes: newLanes(d.Now), records: newRecorder(d.Store, d.Separate), timeout: webhook.FirstTimeout,
	}
}

// Run consumes the feed until ctx ends, then finishes the attempts under way. A feed that ends by itself ends it too.
func (d *Dispatcher) Run(ctx context.Context, feed store.Feed) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var recording sync.WaitGroup
	recorded := make(chan struct{})
	recording.Go(func() { d.records.run(context.WithoutCancel(ctx), recorded) })
	var relieving sync.WaitGroup
	relieving.Go(func() { d.relieve(ctx) })
	err := feed.Consume(ctx, Consumer, d.Handle)
	stop()
	relieving.Wait()
	close(recorded) // Consume has waited for every batch, so nothing more is recorded
	recording.Wait()
	return err
}

// relieve leaves to the retrier what has waited too long behind an endpoint that does not move, because a batch is not
// finished while it waits and the feed hands out only so much; and, when ctx ends, everything that still waits.
func (d *Dispatcher) relieve(ctx context.Context) {
	tick := time.NewTicker(relieveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.spillAll(d.lanes.close())
			return
		}
		d.spillAll(d.lanes.stalled())
	}
}

func (d *Dispatcher) spillAll(jobs []*job) {
	for _, j := range jobs {
		d.spill(j, d.Now().Add(courier.SpillDelay()))
	}
}

// Handle starts the work that a batch asks for and returns; done is called when all of it is on record.
func (d *Dispatcher) Handle(ctx context.Context, b store.Batch, done func(error)) {
	ctx = context.WithoutCancel(ctx) // an attempt under way is finished and recorded while shutting down
	work := &tracker{done: done}
	work.add()
	var messages outgoing
	for _, change := range b.Changes {
		if change.Entity == integration.Entity {
			d.Courier.Forget(change.Company)
		}
		if err := messages.of(change); err != nil {
			d.skip(ctx, "queue work", change, err)
		}
		d.publish(ctx, change, b.Replay, work)
	}
	d.send(ctx, messages, work)
	work.finish(nil)
}

// publish submits the deliveries of a change. A change that cannot be understood is logged and passed over: trying it
// again would give the same error and stop everybody behind it.
func (d *Dispatcher) publish(ctx context.Context, change store.Change, replay bool, work *tracker) {
	events, err := event.Of(change)
	if err != nil {
		d.skip(ctx, "events", change, err)
		return
	}
	if len(events) == 0 {
		return
	}
	endpoints, err := d.Courier.Endpoints(ctx, change.Company, names(events)...)
	if err != nil {
		work.fail(err)
		return
	}
	for _, e := range events {
		payload, err := e.Payload()
		if err != nil {
			d.skip(ctx, "payload", change, err)
			continue
		}
		for _, endpoint := range endpoints {
			if endpoint.Subscribes(e.Type) {
				d.submit(ctx, newJob(e, payload, endpoint, work), replay)
			}
		}
	}
}

func names(events []event.Event) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Type
	}
	return names
}

func (d *Dispatcher) skip(ctx context.Context, what string, change store.Change, err error) {
	d.Metrics.Trouble(metric.ChangesSkipped, change.Company)
	d.Logger.ErrorContext(ctx, "a change is passed over", "what", what, "company", change.Company, "key", change.Key, "error", err)
}

// submit holds the delivery, passes it over when it is on record already, or gives it to its endpoint's lane.
func (d *Dispatcher) submit(ctx context.Context, j *job, replay bool) {
	j.work.add()
	if replay {
		_, err := j.endpoint.Company.Get(ctx, j.key(), nil)
		if !errors.Is(err, store.ErrNotFound) { // it is on record, or nobody can tell
			j.work.finish(err)
			return
		}
	}
	if d.held(j) {
		return
	}
	if !d.lanes.submit(j, d.attempt) {
		d.spill(j, d.Now().Add(courier.SpillDelay()))
	}
}

// held puts a delivery on record that its endpoint may not be sent.
func (d *Dispatcher) held(j *job) bool {
	reason, held := j.endpoint.Held(d.Now())
	if held {
		j.delivery.Hold(reason)
		d.record(j)
	}
	return held
}

// attempt makes the first attempt and puts what came of it on record. The endpoint may have changed while the job
// waited for its turn.
func (d *Dispatcher) attempt(j *job) (ok bool) {
	now, err := d.Courier.Renew(context.Background(), j.endpoint)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		j.delivery.Hold("deleted")
		d.record(j)
		return false
	case err != nil:
		d.spill(j, d.Now().Add(courier.SpillDelay()))
		return false
	}
	if j.endpoint = now; d.held(j) {
		return false
	}
	if due, wait := j.endpoint.Wait(d.Now()); wait {
		d.spill(j, due)
		return false
	}
	ok = d.Courier.Attempt(context.Background(), j.endpoint, &j.delivery, d.timeout)
	d.record(j)
	return ok
}

// spill leaves a delivery to the retrier: the feed tells of the record, and the queue message follows from that.
func (d *Dispatcher) spill(j *job, due time.Time) {
	j.delivery.Schedule(due, true)
	d.record(j)
}

func (d *Dispatcher) record(j *job) {
	op := j.endpoint.Company.Create(j.key(), delivery.Entity, j.delivery).Until(j.delivery.CreatedAt.Add(delivery.Kept))
	d.records.put(record{op: op, done: func(err error) {
		if err == nil {
			d.Courier.Stored(&j.delivery)
		}
		j.work.finish(err)
	}})
}

// tracker calls done once everything that was added is finished, with the first error.
type tracker struct {
	pending atomic.Int64
	err     atomic.Pointer[error]
	done    func(error)
}

func (t *tracker) add() { t.pending.Add(1) }

func (t *tracker) fail(err error) { t.err.CompareAndSwap(nil, &err) }

func (t *tracker) finish(err error) {
	if err != nil {
		t.fail(err)
	}
	if t.pending.Add(-1) > 0 {
		return
	}
	if first := t.err.Load(); first != nil {
		t.done(*first)
		return
	}
	t.done(nil)
}
