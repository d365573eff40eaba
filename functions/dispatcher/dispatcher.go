// Package dispatcher delivers committed changes to the subscribed endpoints. It turns each change into events, and each
// event into one delivery for every subscribed endpoint. It makes the first attempt of each delivery. Failed deliveries go
// into the queue.
//
// The dispatcher is also the only writer of the queues. A delivery that is due later, or a requested sync run, is first
// committed as a record. The dispatcher sends the queue message when it receives that change.
package dispatcher

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/parked"
	"orgops/shared/run/boot"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// Dispatcher consumes the change feed. Make one with New; all exported fields are required except Metrics.
type Dispatcher struct {
	Deps
	lanes  *lanes
	writer *writer
	jobs   *jobs
	queues *queues

	unpublished *unpublished
	sent        *sent
	lot         parked.Lot

	lookouts *lookouts
	budget   time.Duration // of an attempt
}

// Deps holds what a Dispatcher works with.
type Deps struct {
	Store   store.Store
	Courier *courier.Courier
	Retries queue.Queue // deliveries that are due later, and recoveries
	Syncs   queue.Queue // sync runs
	Logger  *slog.Logger
	Metrics *metric.Recorder // nil: no metrics are recorded
	Now     func() time.Time
	// Separate writes each delivery's record in its own transaction. It suits a store that charges twice for writes in a
	// transaction. A store that syncs each commit to disk should batch them.
	Separate bool
}

// Consumer names the dispatcher at the feed.
const Consumer = "dispatcher"

// New makes a dispatcher; Run starts it.
func New(d Deps) *Dispatcher {
	dispatcher := &Dispatcher{
		Deps: d, writer: newWriter(d), jobs: newJobs(), sent: newSent(), budget: courier.FirstTimeout, lookouts: newLookouts(), unpublished: newUnpublished(),
		lot: parked.Lot{Store: d.Store, Consumer: Consumer, Logger: d.Logger, Metrics: d.Metrics, Now: d.Now},
	}
	dispatcher.queues = newQueues(dispatcher.join, dispatcher.jobs.end)
	dispatcher.lanes = newLanes(d.Courier.Slots, d.Now, dispatcher.deliver)
	return dispatcher
}

// From makes a dispatcher from the service's parts.
func From(s *boot.Services) *Dispatcher {
	return New(Deps{
		Store: s.Store, Courier: s.Courier(), Retries: s.Retries, Syncs: s.Syncs, Logger: s.Logger, Metrics: s.Metrics, Now: s.Now,
		Separate: s.Separate,
	})
}

// Run consumes the feed until ctx ends or the feed fails, then finishes the attempts in flight.
func (d *Dispatcher) Run(ctx context.Context, feed store.Feed) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var writing sync.WaitGroup
	written := make(chan struct{})
	writing.Go(func() { d.writer.run(ctx, written) })
	var relieving sync.WaitGroup
	relieving.Go(func() { d.relieve(ctx) })
	err := feed.Consume(ctx, Consumer, d.Handle)
	stop()
	relieving.Wait()
	close(written) // Consume has waited for every batch, so nothing more is stored
	writing.Wait()
	return err
}

// relieve hands jobs that have waited too long for a slot to the retrier. A waiting job keeps its batch unfinished, and the
// feed limits the number of unfinished batches. When ctx ends, relieve hands over every waiting job.
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
		d.spillAll(d.lanes.relieve())
	}
}

func (d *Dispatcher) spillAll(jobs []*job) {
	for _, j := range jobs {
		d.spill(j)
	}
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
		d.reconsider(ctx, change, transition, work)
		events, err := readyEventsOf(change)
		if !b.Replay || !d.sent.has(change) {
			err = errors.Join(asked.add(change, transition), err)
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
func (d *Dispatcher) publish(ctx context.Context, change store.Change, events []readyEvent, replay bool, work *tracker) {
	if len(events) == 0 {
		return
	}
	for _, c := range d.unpublished.upTo(change) {
		all := events
		if c.Sequence != change.Sequence {
			all, _ = readyEventsOf(c) // an event that cannot be made is parked with its change
		}
		if err := d.publishOne(ctx, c, all, replay, work); err != nil {
			d.unpublished.keep(change)
			work.fail(err)
			return
		}
		d.unpublished.drop(c)
	}
}

func (d *Dispatcher) publishOne(ctx context.Context, change store.Change, events []readyEvent, replay bool, work *tracker) error {
	endpoints, err := d.Courier.Endpoints(ctx, change.Company, names(events)...)
	if err != nil {
		return err
	}
	for _, e := range events {
		for _, endpoint := range endpoints {
			if endpoint.Subscribes(e.Type) && endpoint.Existed(change.At) {
				d.submit(ctx, newJob(e.Event, change.Key, e.payload, endpoint, work), replay, d.Now().Sub(change.At))
			}
		}
	}
	return nil
}

func names(events []readyEvent) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Type
	}
	return names
}

// late is the age from which a replayed change counts as tried before. An earlier process may then have made the attempt
// without recording it, so the delivery is recorded before its next attempt. It is shorter than the time for which a Lambda
// retries a failed write before the change is redelivered, and longer than the stream's usual delay.
const late = time.Minute

// submit gives the delivery to its endpoint's lane. It skips a replayed delivery that is already recorded. A delivery that
// is in progress in this process is not made again: its outcome finishes this change too.
func (d *Dispatcher) submit(ctx context.Context, j *job, replay bool, age time.Duration) {
	j.work.add()
	if !d.jobs.begin(j) {
		return
	}
	if j.delivery.Line != "" {
		d.queues.add(j)
		return
	}
	if replay {
		_, err := j.endpoint.Company.Get(ctx, j.key(), nil)
		if !errors.Is(err, store.ErrNotFound) { // it is recorded, or the store does not answer
			d.jobs.end(j, err)
			return
		}
		j.late = age > late
	}
	if d.jobs.full() && !d.Courier.Recordable(j.endpoint.Company.ID()) {
		d.jobs.end(j, errKept)
		return
	}
	if !d.lanes.submit(j) {
		d.spill(j)
	}
}

// deliver makes the first attempt and stores its result. It makes no attempt while the company's records cannot be written,
// or if the attempt may have been made before: the delivery is then recorded first, and the retrier makes the attempt.
func (d *Dispatcher) deliver(j *job) {
	if j.late || !d.Courier.Recordable(j.endpoint.Company.ID()) {
		d.spill(j)
		return
	}
	r, err := d.Courier.Deliver(context.Background(), j.endpoint, &j.delivery, d.budget)
	if err != nil {
		d.spill(j)
		return
	}
	if r.State == courier.Deferred {
		j.delivery.Enqueue(r.Until)
	}
	d.store(j)
}

// spill schedules a delivery for the retrier: it stores the record, and the queue message follows from that change.
func (d *Dispatcher) spill(j *job) {
	j.delivery.Enqueue(d.Now().Add(d.Courier.SpillDelay()))
	d.store(j)
}

func (d *Dispatcher) store(j *job) {
	op := j.endpoint.Company.Create(j.key(), delivery.Entity, j.delivery).Until(j.delivery.Expires())
	d.writer.put(write{op: op, done: func(err error) {
		if err == nil {
			d.Courier.Stored(&j.delivery)
		}
		d.jobs.end(j, err)
	}})
}

// tracker calls done when all added work is finished, with the first error.
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
