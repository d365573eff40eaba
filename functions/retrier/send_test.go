package retrier_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/retrier"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

// setupShared makes a retrier as a Lambda does, which shares its endpoints with other processes.
func setupShared(t *testing.T) *running {
	t.Helper()
	r := setup(t)
	r.Retrier = retrier.New(retrier.Deps{
		Store: r.faulty, Queue: r.Retries, Logger: r.Logger, Now: r.Clock.Now,
		Courier: courier.New(courier.Deps{
			Store: r.faulty, Vault: r.Vault, Client: r.Client, Engine: r.Engine, Logger: r.Logger, Now: r.Clock.Now, Shared: true,
		}),
	})
	return r
}

// holds records n held deliveries.
func (r *running) holds(n int) []delivery.Job {
	r.T.Helper()
	jobs := make([]delivery.Job, n)
	for i := range n {
		jobs[i] = r.deliver(i, func(d *delivery.Delivery) { d.Hold("disabled") })
	}
	return jobs
}

// recoverAll requests a recovery of everything.
func (r *running) recoverAll() (delivery.Job, func() delivery.StoredRecovery) {
	r.T.Helper()
	return r.recover(r.Clock.Now().Add(-time.Hour), r.Clock.Now())
}

// count counts the deliveries by state.
func (r *running) count() map[delivery.State]int {
	r.T.Helper()
	all := map[delivery.State]int{}
	for _, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
		all[d.State]++
	}
	return all
}

// wantFinished checks that a recovery has finished, with so many deliveries.
func (r *running) wantFinished(rec delivery.StoredRecovery, recovered int) {
	r.T.Helper()
	if rec.State != delivery.RecoveryFinished {
		r.T.Errorf("the recovery is %s, want finished", rec.State)
	}
	if rec.FinishedAt == nil {
		r.T.Error("the recovery has no time of its end")
	}
	if rec.Recovered != recovered {
		r.T.Errorf("the recovery has sent %d deliveries, want %d", rec.Recovered, recovered)
	}
}

// TestRetrier_Send sends the deliveries of a window that have ended, and each once.
func TestRetrier_Send(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	const all = 350
	from := r.window(all, func(d *delivery.Delivery) { d.Payload = json.RawMessage(`{"id":"` + d.EventID + `"}`) })
	since, until := from.Add(10*time.Minute), from.Add(330*time.Minute)
	r.Clock.Advance(all * time.Minute)
	j, now := r.recover(since, until)
	due := r.handle(j)
	sent := 0
	for i, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
		want := delivery.Delivery{State: states[i%len(states)], Made: 10, Generation: i % 2}
		if !d.CreatedAt.Before(since) && !d.CreatedAt.After(until) && d.Endpoint == "webhook" && want.State != delivery.Delivered {
			sent++
			want = delivery.Delivery{State: delivery.Delivered, Made: 1, Generation: i%2 + 1, Recovery: j.Recovery}
		}
		got := delivery.Delivery{State: d.State, Made: d.Made, Generation: d.Generation, Recovery: d.Recovery, HeldBecause: d.HeldBecause}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("delivery %d to %s differs (-want +got):\n%s", i, d.Endpoint, diff)
		}
	}
	r.wantDone("the message", due, sent)
	r.wantFinished(now(), sent)
	r.wantDone("a second message", r.handle(j), sent)
}

// TestRetrier_Send_Cost counts what the deliveries of a backlog cost: a write each, and a part of a page.
func TestRetrier_Send_Cost(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	const all = 150
	r.holds(all)
	j, now := r.recoverAll()
	var writes atomic.Int64
	r.faulty.Before(func([]store.Op) error { writes.Add(1); return nil })
	before := r.faulty.Reads()
	r.wantDone("the message", r.handle(j), all)
	r.wantFinished(now(), all)
	reads := r.faulty.Reads() - before
	for what, got := range map[string]float64{"reads": float64(reads) / 0.2, "writes": float64(writes.Load()) / 1.2} {
		if got > all {
			t.Errorf("%d deliveries took %d reads and %d writes, too many %s", all, reads, writes.Load(), what)
		}
	}
	item, err := r.Company("a").Get(t.Context(), integration.BoundsKey("webhook"), nil)
	errtest.Must(t, err)
	if got, want := string(item.Body), `{"circuit":{}}`; got != want {
		t.Errorf("afterwards the endpoint's bounds are %s, want %s: no leased slot", got, want)
	}
}

// TestRetrier_Send_Failed begins the schedule again with the attempt of the recovery. The next attempt has a message.
func TestRetrier_Send_Failed(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	r.receiver.Status(http.StatusInternalServerError)
	held := r.holds(1)[0]
	j, now := r.recoverAll()
	r.wantDone("the message", r.handle(j), 1)
	d := r.record(held)
	r.wantWait(*d.NextAttemptAt, 4*time.Second, 6*time.Second)
	r.wantRecord(held, delivery.Delivery{State: delivery.Scheduled, Made: 1, Generation: 3, NextAttemptAt: d.NextAttemptAt, Recovery: j.Recovery})
	r.wantFinished(now(), 1)
	r.receiver.Answer(nil)
	r.Clock.Set(*d.NextAttemptAt)
	r.wantDone("the next attempt's message", r.handle(r.next(held)), 2)
	r.wantRecord(held, delivery.Delivery{State: delivery.Delivered, Made: 2, Generation: 3, Recovery: j.Recovery})
}

// TestRetrier_Send_Breaker ends the run when the breaker opens. The next run begins with the probe, and goes on when it arrives.
func TestRetrier_Send_Breaker(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	r.receiver.Status(http.StatusInternalServerError)
	const all, window = 60, 16
	r.holds(all)
	j, now := r.recoverAll()
	r.wantWait(r.handle(j), 30*time.Second, 35*time.Second)
	first := len(r.receiver.All())
	if first > window+5 {
		t.Errorf("%d attempts until the breaker has opened, want at most %d", first, window+5)
	}
	if rec := now(); rec.State != delivery.RecoveryRequested {
		t.Errorf("the recovery is %s while deliveries wait, want requested", rec.State)
	}
	r.receiver.Answer(nil)
	r.Clock.Advance(40 * time.Second)
	r.wantDone("the message after the breaker's time", r.handle(j), all)
	r.wantFinished(now(), all)
	if diff := cmp.Diff(map[delivery.State]int{delivery.Scheduled: first, delivery.Delivered: all - first}, r.count()); diff != "" {
		t.Errorf("states differ (-want +got):\n%s", diff)
	}
}

// TestRetrier_Send_Gone disables the endpoint at a 410, and holds what follows.
func TestRetrier_Send_Gone(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	const all, sent = 60, 16 // sent at once
	var arrived sync.WaitGroup
	arrived.Add(sent)
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait() // an earlier answer would disable the endpoint before the last attempt begins
		w.WriteHeader(http.StatusGone)
	})
	r.holds(all)
	j, now := r.recoverAll()
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("the message is due again at %v, want never", due)
	}
	r.wantFinished(now(), all)
	r.wantEndpoint(endpoint{State: integration.Certified, Disabled: integration.DisabledGone})
	r.wantSent(sent)
	if diff := cmp.Diff(map[delivery.State]int{delivery.Failed: sent, delivery.Held: all - sent}, r.count()); diff != "" {
		t.Errorf("states differ (-want +got):\n%s", diff)
	}
}

// TestRetrier_Send_Queue puts deliveries that stand in a line, or go on with their schedule, into the queue.
func TestRetrier_Send_Queue(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	lost := r.deliver(1)
	r.Clock.Advance(delivery.OverdueAfter + time.Second)
	var line []delivery.Job
	for n := range 2 {
		line = append(line, r.deliver(2+n, func(d *delivery.Delivery) { d.Line = "MEMORY#1"; d.Hold("disabled") }))
		r.Clock.Advance(time.Second)
	}
	j, now := r.recoverAll()
	r.wantDone("the message", r.handle(j), 0)
	r.wantFinished(now(), 3)
	due := r.Clock.Now()
	r.wantRecord(lost, delivery.Delivery{State: delivery.Scheduled, Made: 1, Generation: 2, NextAttemptAt: &due, Recovery: j.Recovery})
	r.wantStates("recovered", line, delivery.Scheduled, delivery.Waiting)
}

// TestRetrier_Send_Two lets one recovery at a time send to an endpoint.
func TestRetrier_Send_Two(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	r.holds(3)
	open := r.receiver.Gate()
	j, now := r.recoverAll()
	other, nowOther := r.recoverAll()
	ended := make(chan time.Time)
	go func() { ended <- r.handle(j) }()
	for range 3 {
		r.receiver.Next()
	}
	r.wantWait(r.handle(other), 10*time.Second, 15*time.Second)
	r.wantSent(3)
	open()
	r.wantDone("the first recovery's message", <-ended, 3)
	r.wantFinished(now(), 3)
	r.wantDone("the other one's message", r.handle(other), 3)
	r.wantFinished(nowOther(), 0)
}

// TestRetrier_Send_Killed goes on after a run that ended in the middle of a page, and counts each delivery once.
func TestRetrier_Send_Killed(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	jobs := r.holds(4)
	j, now := r.recoverAll()
	sent := r.record(jobs[1])
	sent.Begin(j.Recovery)
	sent.Log(delivery.Attempt{Number: 2, State: delivery.Failed, At: r.Clock.Now()})
	sent.End(delivery.Failed) // it is recoverable, but was sent
	r.save(sent)
	c := r.Company("a")
	op := c.Create(delivery.SendingKey("webhook"), delivery.SendingEntity, delivery.Lease{}).Until(r.Clock.Now().Add(time.Minute))
	errtest.Must(t, c.Commit(t.Context(), op.Quietly()))
	r.wantWait(r.handle(j), 10*time.Second, 15*time.Second)
	r.wantSent(0)
	r.Clock.Advance(time.Minute + time.Second)
	r.wantDone("the message after the lease", r.handle(j), 3)
	r.wantFinished(now(), 4)
}

// TestRetrier_Send_NotRecorded repeats a write that has failed, and not its attempt. It begins no attempt while writes fail.
func TestRetrier_Send_NotRecorded(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	const all = 40
	r.holds(all)
	j, now := r.recoverAll()
	r.faulty.Once(delivery.Entity, store.ErrUnavailable)
	r.wantDone("the message", r.handle(j), all)
	r.wantFinished(now(), all)
	if diff := cmp.Diff(map[delivery.State]int{delivery.Delivered: all}, r.count()); diff != "" {
		t.Errorf("states differ (-want +got):\n%s", diff)
	}
}
