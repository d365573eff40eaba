package retrier_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/worktest"
)

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

// lined puts a delivery into a line of its own.
func lined(d *delivery.Delivery) { d.Line = "MEMORY#" + d.EventID }

// TestRetrier_Portion puts the deliveries of an ordered endpoint into the queue.
func TestRetrier_Portion(t *testing.T) {
	t.Parallel()
	r := setup(t, ordered)
	const all = 350
	from := r.window(all, lined)
	since, until := from.Add(10*time.Minute), from.Add(330*time.Minute)
	r.Clock.Advance(all * time.Minute)
	j, now := r.recover(since, until)
	want := now()
	r.wantDone("the message", r.handle(j), 0)
	n := r.requested(t, since, until)
	if n < 150 {
		t.Errorf("%d deliveries were requested, want at least 150", n)
	}
	want.State, want.Recovered, want.FinishedAt = recovery.Finished, n, new(r.Clock.Now())
	if diff := cmp.Diff(want.Recovery, now().Recovery); diff != "" {
		t.Errorf("recovery differs (-want +got):\n%s", diff)
	}
	r.wantDone("a second message", r.handle(j), 0)
	r.requested(t, since, until)
	r.wantDone("the message of an unknown recovery", r.handle(delivery.Job{Company: "a", Recovery: "unknown"}), 0)
}

// TestRetrier_Portion_Overdue sends a delivery whose message was lost. It goes on with its schedule. A delivery that is not overdue keeps
// its message.
func TestRetrier_Portion_Overdue(t *testing.T) {
	t.Parallel()
	r := setup(t, ordered)
	from := r.Clock.Now()
	lost := r.deliver(1)
	r.Clock.Advance(delivery.OverdueAfter + time.Second)
	waiting := r.deliver(2)
	j, now := r.recover(from, r.Clock.Now())
	r.wantDone("the message", r.handle(j), 0)
	due := r.Clock.Now()
	r.wantRecord(lost, delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Made: 1, Generation: 2, NextAttemptAt: &due, Recovery: j.Recovery}})
	r.wantRecord(waiting, delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Made: 1, Generation: 1, NextAttemptAt: &due}})
	if got := now().Recovered; got != 1 {
		t.Errorf("%d deliveries were recovered, want 1", got)
	}
}

// TestRetrier_Portion_Conflict reads a page again after a concurrent change to a delivery, and requests no delivery twice.
func TestRetrier_Portion_Conflict(t *testing.T) {
	t.Parallel()
	r := setup(t, ordered)
	from := r.window(250, lined)
	j, now := r.recover(from, from.Add(250*time.Minute))
	commits := 0
	r.faulty.Before(func(ops []store.Op) error {
		if commits++; commits == 4 { // the first page takes two, and the position of the recovery one
			return &store.ConflictError{Index: 1, Key: ops[1].Key}
		}
		return nil
	})
	if due := r.handle(j); !due.Equal(r.Clock.Now()) {
		t.Errorf("due at %v, want at once, at %v", due, r.Clock.Now())
	}
	rec := now()
	if rec.State != recovery.Requested {
		t.Errorf("state after one page = %q, want %q", rec.State, recovery.Requested)
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

// TestRetrier_Portion_Large takes deliveries with long logs in several transactions.
func TestRetrier_Portion_Large(t *testing.T) {
	t.Parallel()
	r := setup(t, ordered)
	from := r.window(60, lined, func(d *delivery.Delivery) {
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

// TestRetrier_Portion_Portions puts no more deliveries into the queue than the endpoint drains: the next portion follows when most
// of the last one has been tried.
func TestRetrier_Portion_Portions(t *testing.T) {
	t.Parallel()
	r := setup(t, ordered)
	from := r.window(2000, lined, func(d *delivery.Delivery) { d.Endpoint = "webhook"; d.End(delivery.Held) })
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
	if rec := now(); rec.State != recovery.Finished {
		t.Errorf("after the portion was drained the recovery is %s with %d deliveries, want finished", rec.State, rec.Recovered)
	}
}

// TestRetrier_Portion_Stuck goes on after ten minutes with an endpoint that drains nothing.
func TestRetrier_Portion_Stuck(t *testing.T) {
	t.Parallel()
	r := setup(t, ordered)
	from := r.window(1200, lined, func(d *delivery.Delivery) { d.Endpoint = "webhook"; d.End(delivery.Held) })
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
