package retrier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orgops/functions/retrier"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

func (r *running) send(job any) {
	r.T.Helper()
	body, err := json.Marshal(job)
	errtest.Must(r.T, err)
	errtest.Must(r.T, r.Retries.Send(r.T.Context(), queue.Message{Body: body, Group: "a"}))
}

// TestRun handles real messages: it postpones one and finally acknowledges it, and buries the malformed ones.
func TestRun(t *testing.T) {
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
	r.Clock.Set(*r.record(j).NextAttemptAt)
	r.receiver.Next()
	worktest.Until(t, "the delivery is delivered", func() bool { return r.record(j).State == delivery.Delivered })
	r.Clock.Advance(10 * time.Second) // the second message may have been postponed a little
	stop()
	if r.sent() != 2 {
		t.Errorf("sent %d times", r.sent())
	}
}

// TestRun_Stops finishes the attempts in flight when it stops.
func TestRun_Stops(t *testing.T) {
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
	if d := r.record(j); d.State != delivery.Delivered {
		t.Errorf("the record is %+v", d)
	}
	r.Clock.Advance(time.Hour) // longer than any lease
	r.send("marker")
	if left, err := r.Retries.Receive(t.Context(), queue.MaxBatch, time.Minute); err != nil || len(left) != 1 {
		t.Errorf("%d messages in the queue, %v; want only the marker", len(left), err)
	}
}

// window records deliveries a minute apart, in every state and of two endpoints.
func (r *running) window(n int, edit ...func(*delivery.Delivery)) (from time.Time) {
	r.T.Helper()
	from = r.Clock.Now()
	states := []delivery.State{delivery.Held, delivery.Dead, delivery.Failed, delivery.Delivered}
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
		inside := !d.CreatedAt.Before(from) && !d.CreatedAt.After(to)
		want := inside && d.Endpoint == "webhook" && i%4 != 3
		if got := d.State == delivery.Scheduled; got != want {
			t.Errorf("delivery %d of %s: %s", i, d.Endpoint, d.State)
		}
		if want {
			n++
			if d.Made != 0 || d.Generation != i%2+1 || d.NextAttemptAt == nil || d.NextAttemptAt.After(r.Clock.Now()) {
				t.Errorf("delivery %d was requested as %+v", i, d)
			}
		}
	}
	return n
}

func TestRecover(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const all = 350
	from := r.window(all)
	since, until := from.Add(10*time.Minute), from.Add(330*time.Minute)
	r.Clock.Advance(all * time.Minute)
	j, now := r.recover(since, until)
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("due again at %v", due)
	}
	n := r.requested(t, since, until)
	if rec := now(); rec.State != delivery.RecoveryFinished || rec.Recovered != n || n < 150 || rec.FinishedAt == nil || rec.After != "" {
		t.Errorf("%d were requested, and the recovery is %+v", n, rec)
	}
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("a second message is due at %v", due)
	}
	r.requested(t, since, until)
	if due := r.handle(delivery.Job{Company: "a", Recovery: "unknown"}); !due.IsZero() {
		t.Errorf("an unknown recovery is due at %v", due)
	}
}

// TestRecover_Conflict reads a page again after a concurrent change to a delivery, and requests no delivery twice.
func TestRecover_Conflict(t *testing.T) {
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
		t.Errorf("due at %v", due)
	}
	if rec := now(); rec.State != delivery.RecoveryRequested || rec.After == "" || rec.Recovered == 0 {
		t.Errorf("after one page: %+v", rec)
	}
	r.handle(j)
	if n := r.requested(t, from, from.Add(250*time.Minute)); now().Recovered != n {
		t.Errorf("%d requested, %d counted", n, now().Recovered)
	}
}

// TestRecover_Large takes deliveries with long logs in several transactions.
func TestRecover_Large(t *testing.T) {
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
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("due at %v", due)
	}
	if n := r.requested(t, from, from.Add(60*time.Minute)); now().Recovered != n || commits < 2 {
		t.Errorf("%d requested in %d commits, %d counted", n, commits, now().Recovered)
	}
}

// TestRecovered sends the recovered deliveries.
func TestRecovered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	held := r.deliver(1, func(d *delivery.Delivery) { d.Hold("sandbox") })
	r.handle(held)
	if r.sent() != 0 {
		t.Fatal("a held delivery was sent")
	}
	j, _ := r.recover(r.Clock.Now().Add(-time.Minute), r.Clock.Now())
	r.handle(j)
	d := r.record(held)
	r.handle(job(d))
	if r.record(held).State != delivery.Delivered || r.sent() != 1 {
		t.Errorf("the record is %+v", r.record(held))
	}
}

// TestPoison buries a message that keeps failing.
func TestPoison(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Put("a", delivery.Key("odd", "webhook"), delivery.Entity, json.RawMessage(`{"state":1}`))
	r.send(delivery.Job{Company: "a", Delivery: "odd#webhook", Generation: 1})
	var received atomic.Int64
	w := retrier.New(retrier.Deps{Store: r.Store, Courier: r.Courier(), Queue: r.Retries, Logger: r.Logger, Now: r.Clock.Now}).Worker()
	handle := w.Handle
	w.Handle = func(ctx context.Context, body []byte) (time.Time, error) {
		defer r.Clock.Advance(w.Lease) // the message returns, and not before it was handled
		received.Add(1)
		return handle(ctx, body)
	}
	r.Go(w.Run)
	worktest.Until(t, "the message is buried", func() bool {
		dead, err := r.Retries.DeadLetters(t.Context(), 1)
		errtest.Must(t, err)
		return len(dead) == 1
	})
	if n := received.Load(); n < 20 {
		t.Errorf("received %d times, want 20", n)
	}
}
