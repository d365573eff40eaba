package retrier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/retrier"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

func (r *running) send(job any) {
	r.T.Helper()
	body, err := json.Marshal(job)
	errtest.Must(r.T, err)
	errtest.Must(r.T, r.Retries.Send(r.T.Context(), queue.Message{Body: body, Group: "a"}))
}

// TestRetrier_Run handles real messages: it acknowledges both messages of an attempt, takes the next message when it is due,
// and buries the malformed ones.
func TestRetrier_Run(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(500)
	stop := r.Go(r.Run)
	j := r.deliver(1)
	r.send(j)
	r.send(j)
	r.receiver.Next()
	for _, poison := range []any{"text", delivery.Job{}, delivery.Job{Company: "a"}} {
		r.send(poison)
	}
	worktest.Until(t, "the malformed messages are buried", func() bool {
		dead, err := r.Retries.DeadLetters(t.Context(), 10)
		errtest.Must(t, err)
		return len(dead) == 3
	})
	worktest.Until(t, "the attempt is recorded", func() bool { return r.record(j).Made == 2 })
	r.receiver.Answer(nil)
	r.send(job(r.record(j)))
	r.Clock.Set(*r.record(j).NextAttemptAt)
	worktest.Until(t, "the second attempt is made", func() bool {
		r.Clock.Advance(100 * time.Millisecond) // its message waits a little if it meets the second one
		return len(r.receiver.All()) == 2
	})
	worktest.Until(t, "the delivery is delivered", func() bool { return r.record(j).State == delivery.Delivered })
	r.Clock.Advance(10 * time.Second) // the second message may have been postponed a little
	stop()
	r.wantSent(2)
}

// TestRetrier_Run_Stops finishes the attempts in flight when it stops.
func TestRetrier_Run_Stops(t *testing.T) {
	t.Parallel()
	r := setup(t)
	open := r.receiver.Gate()
	stop := r.Go(r.Run)
	j := r.deliver(1)
	r.send(j)
	r.receiver.Next()
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	open()
	<-stopped
	r.wantRecord(j, delivery.Delivery{State: delivery.Delivered, Made: 2, Generation: 1})
	r.Clock.Advance(time.Hour) // longer than any lease
	r.send("marker")
	left, err := r.Retries.Receive(t.Context(), queue.MaxBatch, time.Minute)
	errtest.Must(t, err)
	if len(left) != 1 {
		t.Errorf("%d messages in the queue, want only the marker", len(left))
	}
}

// states lists the states of the deliveries that window records, in turn.
var states = []delivery.State{delivery.Held, delivery.Dead, delivery.Failed, delivery.Delivered}

// window records deliveries a minute apart, in every state and of two endpoints.
func (r *running) window(n int, edit ...func(*delivery.Delivery)) (from time.Time) {
	r.T.Helper()
	from = r.Clock.Now()
	c := r.Company("a")
	var ops []store.Op
	for i := range n {
		at := from.Add(time.Duration(i) * time.Minute)
		d := delivery.Delivery{EventID: id.At(at, fmt.Sprint(i)), Endpoint: "webhook", Payload: json.RawMessage(`{}`), CreatedAt: at, Generation: i % 2}
		if i%5 == 4 {
			d.Endpoint = "webhook-other"
		}
		d.End(states[i%len(states)])
		d.Made = 10
		for _, e := range edit {
			e(&d)
		}
		if ops = append(ops, c.Create(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)); len(ops) == 10 || i == n-1 {
			errtest.Must(r.T, c.Commit(r.T.Context(), ops...))
			ops = nil
		}
	}
	return from
}

func (r *running) recover(from, to time.Time) (delivery.Job, func() delivery.StoredRecovery) {
	r.T.Helper()
	rec := delivery.StoredRecovery{Recovery: delivery.Recovery{
		ID: id.New(), Provider: "webhook", Since: from, Until: to, State: delivery.RecoveryRequested, RequestedAt: r.Clock.Now(),
	}}
	r.Put("a", delivery.RecoveryKey(rec.ID), delivery.RecoveryEntity, rec)
	return delivery.Job{Company: "a", Recovery: rec.ID}, func() (now delivery.StoredRecovery) {
		r.Get("a", delivery.RecoveryKey(rec.ID), &now)
		return now
	}
}

// requested checks that exactly the recoverable deliveries of one endpoint in a window were requested again.
func (r *running) requested(t *testing.T, from, to time.Time) (n int) {
	t.Helper()
	for i, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
		type request struct {
			State            delivery.State
			Made, Generation int
			Due, Marked      bool // marked with its recovery
		}
		want := request{State: states[i%len(states)], Made: 10, Generation: i % 2}
		inside := !d.CreatedAt.Before(from) && !d.CreatedAt.After(to)
		if inside && d.Endpoint == "webhook" && want.State != delivery.Delivered {
			n++
			want = request{State: delivery.Scheduled, Generation: i%2 + 1, Due: true, Marked: true}
		}
		due := d.NextAttemptAt != nil && !d.NextAttemptAt.After(r.Clock.Now())
		if got := (request{d.State, d.Made, d.Generation, due, d.Recovery != ""}); got != want {
			t.Errorf("delivery %d of %s is %+v, want %+v", i, d.Endpoint, got, want)
		}
	}
	return n
}

func TestRetrier_Recover(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const all = 350
	from := r.window(all)
	since, until := from.Add(10*time.Minute), from.Add(330*time.Minute)
	r.Clock.Advance(all * time.Minute)
	j, now := r.recover(since, until)
	want := now()
	r.wantDone("the message", r.handle(j), 0)
	n := r.requested(t, since, until)
	if n < 150 {
		t.Errorf("%d deliveries were requested, want at least 150", n)
	}
	want.State, want.Recovered, want.FinishedAt = delivery.RecoveryFinished, n, new(r.Clock.Now())
	if diff := cmp.Diff(want.Recovery, now().Recovery); diff != "" {
		t.Errorf("recovery differs (-want +got):\n%s", diff)
	}
	r.wantDone("a second message", r.handle(j), 0)
	r.requested(t, since, until)
	r.wantDone("the message of an unknown recovery", r.handle(delivery.Job{Company: "a", Recovery: "unknown"}), 0)
}

// TestRetrier_Recover_Overdue sends a delivery whose message was lost. It goes on with its schedule. A delivery that is not overdue keeps
// its message.
func TestRetrier_Recover_Overdue(t *testing.T) {
	t.Parallel()
	r := setup(t)
	from := r.Clock.Now()
	lost := r.deliver(1)
	r.Clock.Advance(delivery.OverdueAfter + time.Second)
	waiting := r.deliver(2)
	j, now := r.recover(from, r.Clock.Now())
	r.wantDone("the message", r.handle(j), 0)
	due := r.Clock.Now()
	r.wantRecord(lost, delivery.Delivery{State: delivery.Scheduled, Made: 1, Generation: 2, NextAttemptAt: &due, Recovery: j.Recovery})
	r.wantRecord(waiting, delivery.Delivery{State: delivery.Scheduled, Made: 1, Generation: 1, NextAttemptAt: &due})
	if got := now().Recovered; got != 1 {
		t.Errorf("%d deliveries were recovered, want 1", got)
	}
}

// TestRetrier_Recover_Conflict reads a page again after a concurrent change to a delivery, and requests no delivery twice.
func TestRetrier_Recover_Conflict(t *testing.T) {
	t.Parallel()
	r := setup(t)
	from := r.window(250)
	j, now := r.recover(from, from.Add(250*time.Minute))
	commits := 0
	r.faulty.Before(func(ops []store.Op) error {
		if commits++; commits == 2 {
			return &store.ConflictError{Index: 1, Key: ops[1].Key}
		}
		return nil
	})
	if due := r.handle(j); !due.Equal(r.Clock.Now()) {
		t.Errorf("due at %v, want at once, at %v", due, r.Clock.Now())
	}
	rec := now()
	if rec.State != delivery.RecoveryRequested {
		t.Errorf("state after one page = %q, want %q", rec.State, delivery.RecoveryRequested)
	}
	if rec.After == "" {
		t.Error("after one page the recovery has no position, want the last delivery's key")
	}
	if rec.Recovered == 0 {
		t.Error("0 deliveries are counted after one page, want some")
	}
	r.handle(j)
	if n := r.requested(t, from, from.Add(250*time.Minute)); now().Recovered != n {
		t.Errorf("%d deliveries are counted, want the %d requested ones", now().Recovered, n)
	}
}

// TestRetrier_Recover_Large takes deliveries with long logs in several transactions.
func TestRetrier_Recover_Large(t *testing.T) {
	t.Parallel()
	r := setup(t)
	from := r.window(60, func(d *delivery.Delivery) {
		d.Payload = json.RawMessage(`"` + strings.Repeat("x", 19_000) + `"`)
		for range delivery.MaxAttempts {
			d.Attempts = append(d.Attempts, delivery.Attempt{State: delivery.Failed, Excerpt: strings.Repeat("<", 1024)})
		}
	})
	commits := 0
	r.faulty.Before(func(ops []store.Op) error { commits++; return store.CheckOps(ops) })
	j, now := r.recover(from, from.Add(60*time.Minute))
	r.wantDone("the message", r.handle(j), 0)
	if n := r.requested(t, from, from.Add(60*time.Minute)); now().Recovered != n {
		t.Errorf("%d deliveries are counted, want the %d requested ones", now().Recovered, n)
	}
	if commits < 2 {
		t.Errorf("%d commits, want at least 2", commits)
	}
}

// TestRetrier_Recover_Sent sends the recovered deliveries.
func TestRetrier_Recover_Sent(t *testing.T) {
	t.Parallel()
	r := setup(t)
	held := r.deliver(1, func(d *delivery.Delivery) { d.Hold("sandbox") })
	r.wantDone("the message of a held delivery", r.handle(held), 0)
	j, _ := r.recover(r.Clock.Now().Add(-time.Minute), r.Clock.Now())
	r.handle(j)
	r.wantDone("the message of the recovered delivery", r.handle(job(r.record(held))), 1)
	r.wantRecord(held, delivery.Delivery{State: delivery.Delivered, Made: 1, Generation: 2, Recovery: j.Recovery})
}

// TestRetrier_Backlog counts what recovered deliveries cost a process that sends alone: each is read and written once, by its
// recovery and by its attempt a page at a time.
func TestRetrier_Backlog(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Retrier = retrier.New(retrier.Deps{
		Store: r.faulty, Queue: r.Retries, Logger: r.Logger, Now: r.Clock.Now,
		Courier: courier.New(courier.Deps{
			Store: r.faulty, Vault: r.Vault, Client: r.Client, Logger: r.Logger, Now: r.Clock.Now, Fresh: time.Minute,
		}),
	})
	const all = 150
	jobs := make([]delivery.Job, all)
	for n := range all {
		jobs[n] = r.deliver(n, func(d *delivery.Delivery) { d.Hold("disabled") })
	}
	var writes atomic.Int64
	r.faulty.Before(func([]store.Op) error { writes.Add(1); return nil })
	before := r.faulty.Reads()
	j, _ := r.recover(r.Clock.Now().Add(-time.Minute), r.Clock.Now())
	r.wantDone("the recovery", r.handle(j), 0)
	for _, one := range jobs {
		one.Generation++
		r.handle(one)
	}
	r.wantSent(all)
	for what, n := range map[string]int64{"reads": r.faulty.Reads() - before, "writes": writes.Load()} {
		if each := float64(n) / all; each > 1.1 {
			t.Errorf("%.2f %s for each delivery, want at most 1.1", each, what)
		}
	}
}

// TestRetrier_Recover_Portions puts no more deliveries into the queue than the endpoint drains: the next portion follows when most
// of the last one has been tried.
func TestRetrier_Recover_Portions(t *testing.T) {
	t.Parallel()
	r := setup(t)
	from := r.window(2000, func(d *delivery.Delivery) { d.Endpoint = "webhook"; d.End(delivery.Held) })
	r.Clock.Advance(2000 * time.Minute)
	j, now := r.recover(from, r.Clock.Now())
	due := r.handle(j)
	r.wantWait(due, time.Second, time.Second)
	first := now().Recovered
	if first < 1000 || first >= 1100 {
		t.Errorf("%d deliveries are in the queue at first, want 1,000 to 1,099", first)
	}
	r.Clock.Advance(time.Second)
	r.wantWait(r.handle(j), time.Second, time.Second)
	if n := now().Recovered; n != first {
		t.Errorf("%d deliveries are in the queue while none has been tried, want %d", n, first)
	}
	for i, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
		if i < first {
			d.End(delivery.Delivered)
			r.save(d)
		}
	}
	r.handle(j)
	if rec := now(); rec.State != delivery.RecoveryFinished {
		t.Errorf("after the portion was drained the recovery is %s with %d deliveries, want finished", rec.State, rec.Recovered)
	}
}

// TestRetrier_Recover_Stuck goes on after ten minutes with an endpoint that drains nothing.
func TestRetrier_Recover_Stuck(t *testing.T) {
	t.Parallel()
	r := setup(t)
	from := r.window(1200, func(d *delivery.Delivery) { d.Endpoint = "webhook"; d.End(delivery.Held) })
	r.Clock.Advance(1200 * time.Minute)
	j, now := r.recover(from, r.Clock.Now())
	r.handle(j)
	r.Clock.Advance(9 * time.Minute)
	r.wantWait(r.handle(j), 30*time.Second, 30*time.Second)
	r.Clock.Advance(2 * time.Minute)
	r.wantDone("the recovery after its patience", r.handle(j), 0)
	if n := now().Recovered; n != 1200 {
		t.Errorf("%d deliveries are in the queue, want 1,200", n)
	}
}

// patient waits out the backoff of each released message.
type patient struct {
	queue.Queue
	clock *clocktest.Clock
}

func (p patient) Release(ctx context.Context, r queue.Received, after time.Duration) error {
	defer p.clock.Advance(after)
	return p.Queue.Release(ctx, r, after)
}

// TestRetrier_Poison buries a message that keeps failing.
func TestRetrier_Poison(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Put("a", delivery.Key("odd", "webhook"), delivery.Entity, json.RawMessage(`{"state":1}`))
	r.send(delivery.Job{Company: "a", Delivery: "odd#webhook", Generation: 1})
	var received atomic.Int64
	w := retrier.New(retrier.Deps{Store: r.Store, Courier: r.Courier(), Queue: r.Retries, Logger: r.Logger, Now: r.Clock.Now}).Worker()
	handle := w.Handle
	w.Handle = func(ctx context.Context, m queue.Received) (time.Time, error) {
		received.Add(1)
		return handle(ctx, m)
	}
	w.Queue = patient{r.Retries, r.Clock}
	r.Go(w.Run)
	worktest.Until(t, "the message is buried", func() bool {
		dead, err := r.Retries.DeadLetters(t.Context(), 1)
		errtest.Must(t, err)
		return len(dead) == 1
	})
	if n := received.Load(); n < 20 {
		t.Errorf("received %d times, want at least 20", n)
	}
}

// TestRetrier_Run_Slow sends a slow endpoint four times as many deliveries at once with each round of its answers, as the
// dispatcher does.
func TestRetrier_Run_Slow(t *testing.T) {
	t.Parallel()
	r := setup(t)
	answers, failed := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(failed) })
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-answers:
			w.WriteHeader(http.StatusNoContent)
		case <-failed:
		}
	})
	const all = 200
	for n := range all {
		r.send(r.deliver(n))
	}
	r.Go(r.Run)
	delivered := func() (n int) {
		for _, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
			if d.State == delivery.Delivered {
				n++
			}
		}
		return n
	}
	sent := 0
	for _, round := range []int{16, 64, all - 16 - 64} {
		for range round {
			r.receiver.Next()
		}
		sent += round
		r.wantSent(sent)
		r.Clock.Advance(3 * time.Second) // the others find no slot, and wait for up to three seconds
		for range round {
			answers <- struct{}{}
		}
		worktest.Until(t, fmt.Sprintf("%d deliveries are delivered", sent), func() bool { return delivered() == sent })
		r.Clock.Advance(20 * time.Second) // some have found no slot several times
	}
}
