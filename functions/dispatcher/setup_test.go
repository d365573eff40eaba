package dispatcher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/dispatcher"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/memory"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

// running wraps a dispatcher over a test harness.
type running struct {
	*worktest.Harness
	dispatcher *dispatcher.Dispatcher
	faulty     *worktest.Store
	retries    *worktest.Queue
	edit       []func(*courier.Deps)
	events     event.Table
	stop       func()
	barriers   int
}

// setup makes a harness with a dispatcher that does not run yet.
func setup(t *testing.T, edit ...func(*courier.Deps)) *running {
	t.Helper()
	b := worktest.New(t, dispatcher.Consumer)
	r := &running{Harness: b, faulty: &worktest.Store{Store: b.Store}, retries: &worktest.Queue{Queue: b.Retries, Fail: make(chan error, 1)}}
	r.edit = append([]func(*courier.Deps){func(d *courier.Deps) { d.Store = r.faulty }}, edit...)
	return setupOn(r)
}

// separate writes each record in its own transaction.
func separate(d *courier.Deps) { d.Separate = true }

// hour lets an endpoint hang for the whole test, even on a busy machine.
func hour(d *courier.Deps) { d.First = time.Hour }

// start runs a dispatcher on the feed.
func start(t *testing.T) *running {
	t.Helper()
	r := setup(t)
	r.run(r.Store)
	return r
}

// patient runs a dispatcher whose endpoints may hang for the whole test.
func patient(t *testing.T) *running {
	t.Helper()
	r := setup(t, hour)
	r.run(r.Store)
	return r
}

func (r *running) run(feed store.Feed) {
	r.stop = r.Go(func(ctx context.Context) {
		if err := r.dispatcher.Run(ctx, feed); err != nil {
			r.T.Error(err)
		}
	})
}

// batches feeds prepared batches, and sends the result of each to finished.
type batches struct {
	hand     []store.Batch
	finished chan error
}

func feedOf(hand ...store.Batch) *batches {
	return &batches{hand: hand, finished: make(chan error, len(hand))}
}

func (f *batches) Consume(ctx context.Context, _ string, handle func(context.Context, store.Batch, func(error))) error {
	ended := make(chan error, len(f.hand))
	for _, b := range f.hand {
		handle(ctx, b, func(err error) { f.finished <- err; ended <- err })
	}
	for range f.hand {
		<-ended
	}
	<-ctx.Done()
	return nil
}

// remember commits the n-th memory of a company, which causes a memory.created event.
func (r *running) remember(company string, n int) {
	r.T.Helper()
	r.rememberAs(company, n, fmt.Sprintf("Title %d", n))
}

func (r *running) rememberAs(company string, n int, title string) {
	r.T.Helper()
	m := r.memory(n, title)
	r.Put(company, memory.Key(m.ID), memory.Entity, m)
}

func (r *running) memory(n int, title string) memory.Memory {
	d := memory.Draft{ExternalID: fmt.Sprint(n), Kind: "issue", Title: title}
	m, _ := memory.Apply(memory.Memory{}, "github", d, r.Clock.Now())
	return m
}

// rememberMany commits memories 0 to n-1 in as few commits as possible.
func (r *running) rememberMany(company string, n int) {
	r.T.Helper()
	c := r.Company(company)
	var ops []store.Op
	for i := range n {
		m := r.memory(i, "Many")
		if ops = append(ops, c.Create(memory.Key(m.ID), memory.Entity, m)); len(ops) == store.MaxOps || i == n-1 {
			errtest.Must(r.T, c.Commit(r.T.Context(), ops...))
			ops = nil
		}
	}
}

func (r *running) deliveries(company string) []delivery.Delivery {
	r.T.Helper()
	return worktest.All[delivery.Delivery](r.Harness, company, delivery.Prefix)
}

// settled waits until a company has n recorded deliveries, and counts them by state.
func (r *running) settled(company string, n int) states {
	r.T.Helper()
	worktest.Until(r.T, fmt.Sprintf("%d deliveries of %s are recorded", n, company), func() bool { return len(r.deliveries(company)) >= n })
	got := states{}
	for _, d := range r.deliveries(company) {
		got[d.State]++
	}
	return got
}

// states counts deliveries by state.
type states map[delivery.State]int

// wantSettled waits until a company has as many recorded deliveries as want counts, and compares their states.
func (r *running) wantSettled(company string, want states) {
	r.T.Helper()
	n := 0
	for _, count := range want {
		n += count
	}
	if diff := cmp.Diff(want, r.settled(company, n)); diff != "" {
		r.T.Errorf("states of the deliveries of %s differ (-want +got):\n%s", company, diff)
	}
}

// wantRecord compares a delivery's record: all except its identity, and of its attempts the numbers, states and statuses.
func (r *running) wantRecord(got, want delivery.Delivery) {
	r.T.Helper()
	others := cmp.Options{
		cmpopts.IgnoreFields(delivery.Delivery{}, "EventID", "Endpoint", "Event", "Payload", "CreatedAt"),
		cmpopts.IgnoreFields(delivery.Attempt{}, "At", "LatencyMS", "Error", "Excerpt"),
	}
	if diff := cmp.Diff(want, got, others); diff != "" {
		r.T.Errorf("record differs (-want +got):\n%s", diff)
	}
}

// wantReceived checks how many deliveries a receiver has received.
func (r *running) wantReceived(receiver *worktest.Receiver, want int) {
	r.T.Helper()
	if got := len(receiver.All()); got != want {
		r.T.Errorf("the endpoint has received %d deliveries, want %d", got, want)
	}
}

// message takes the next message from a queue, after moving the clock to its due time.
func message[T any](r *running, q queue.Queue) (job T) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), worktest.Patience)
	defer cancel()
	got, err := q.Receive(ctx, 1, time.Minute)
	errtest.Must(r.T, err)
	if len(got) != 1 {
		r.T.Fatalf("%d messages came, want 1", len(got))
	}
	errtest.Must(r.T, json.Unmarshal(got[0].Body, &job))
	errtest.Must(r.T, q.Ack(ctx, got...))
	return job
}

// setupOn makes another dispatcher on the same harness, as after a restart.
func setupOn(r *running) *running {
	again := *r
	again.dispatcher = dispatcher.New(dispatcher.Deps{
		Store: r.faulty, Courier: r.Courier(r.edit...), Retries: r.retries, Syncs: r.Syncs, Notices: r.Notices, Logger: r.Logger, Metrics: r.Metrics, Now: r.Clock.Now,
		Events: r.events,
	})
	return &again
}
