package retrier_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/outbound"
)

// TestRetrier_Send sends the deliveries of a window that have ended, and each once.
func TestRetrier_Send(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
		const all = 350
		from := r.window(all, func(d *delivery.Delivery) { d.Payload = json.RawMessage(`{"id":"` + d.EventID + `"}`) })
		since, until := from.Add(10*time.Minute), from.Add(330*time.Minute)
		r.Clock.Advance(all * time.Minute)
		j, now := r.recover(since, until)
		due := r.handle(j)
		sent := 0
		for i, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
			want := delivery.Delivery{Head: delivery.Head{State: states[i%len(states)], Made: 10, Generation: i % 2}}
			if !d.CreatedAt.Before(since) && !d.CreatedAt.After(until) && d.Endpoint == "webhook" && want.State != delivery.Delivered {
				sent++
				want = delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 1, Generation: i%2 + 1, Recovery: j.Recovery}}
			}
			got := delivery.Delivery{Head: delivery.Head{State: d.State, Made: d.Made, Generation: d.Generation, Recovery: d.Recovery, HeldBecause: d.HeldBecause}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("delivery %d to %s differs (-want +got):\n%s", i, d.Endpoint, diff)
			}
		}
		r.wantDone("the message", due, sent)
		r.wantFinished(now(), sent)
		r.wantDone("a second message", r.handle(j), sent)
	})
}

// TestRetrier_Send_Cost counts what the deliveries of a backlog cost: a write each, and a part of a page.
func TestRetrier_Send_Cost(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
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
	})
}

// TestRetrier_Send_Yields gives the slots back that its Lambda has leased.
func TestRetrier_Send_Yields(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	r.holds(3)
	j, _ := r.recoverAll()
	r.wantDone("the message", r.handle(j), 3)
	item, err := r.Company("a").Get(t.Context(), integration.BoundsKey("webhook", ""), nil)
	errtest.Must(t, err)
	if got, want := string(item.Body), `{"circuit":{}}`; got != want {
		t.Errorf("afterwards the endpoint's bounds are %s, want %s: no leased slot", got, want)
	}
}

// TestRetrier_Send_Failed begins the schedule again with the attempt of the recovery. The next attempt has a message.
func TestRetrier_Send_Failed(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
		r.receiver.Status(http.StatusInternalServerError)
		held := r.holds(1)[0]
		j, now := r.recoverAll()
		r.wantDone("the message", r.handle(j), 1)
		d := r.record(held)
		r.wantWait(*d.NextAttemptAt, 4*time.Second, 6*time.Second)
		r.wantRecord(held, delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Made: 1, Generation: 3, NextAttemptAt: d.NextAttemptAt, Recovery: j.Recovery}})
		r.wantFinished(now(), 1)
		r.receiver.Answer(nil)
		r.Clock.Set(*d.NextAttemptAt)
		r.wantDone("the next attempt's message", r.handle(r.next(held)), 2)
		r.wantRecord(held, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 3, Recovery: j.Recovery}})
	})
}

// TestRetrier_Send_Breaker ends the run when the breaker opens. The next run begins with the probe, and goes on when it arrives.
func TestRetrier_Send_Breaker(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
		r.receiver.Status(http.StatusInternalServerError)
		const all, window = 60, 16
		r.holds(all)
		j, now := r.recoverAll()
		r.wantWait(r.handle(j), 30*time.Second, 40*time.Second)
		first := len(r.receiver.All())
		if first > window+5 {
			t.Errorf("%d attempts until the breaker has opened, want at most %d", first, window+5)
		}
		if rec := now(); rec.State != recovery.Requested {
			t.Errorf("the recovery is %s while deliveries wait, want requested", rec.State)
		}
		r.receiver.Answer(nil)
		r.Clock.Advance(40 * time.Second)
		r.wantDone("the message after the breaker's time", r.handle(j), all)
		r.wantFinished(now(), all)
		if diff := cmp.Diff(map[delivery.State]int{delivery.Scheduled: first, delivery.Delivered: all - first}, r.count()); diff != "" {
			t.Errorf("states differ (-want +got):\n%s", diff)
		}
	})
}

// TestRetrier_Send_Gone disables the endpoint at a 410, and holds what follows.
func TestRetrier_Send_Gone(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
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
	})
}

// TestRetrier_Send_Spread leaves time between the attempts while another company makes first attempts.
func TestRetrier_Send_Spread(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Retrier = r.make(courier.Deps{Fresh: time.Minute, Now: time.Now})
	const all, step = 20, 10 * time.Millisecond // on one core; on n cores a part of it
	firsts := 0
	first := func() { // of another company, to an endpoint that is gone
		firsts++
		key := delivery.Key(fmt.Sprint(firsts), "webhook")
		r.Deps.Courier.Start(t.Context(), &courier.Task{Source: courier.Feed, Company: r.Company("b"), Key: key, Done: func(courier.Outcome) {}})
	}
	var mu sync.Mutex
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		first()
		w.WriteHeader(http.StatusNoContent)
	})
	first()
	r.holds(all)
	j, _ := r.recoverAll()
	began := time.Now()
	r.wantDone("the message", r.handle(j), all)
	least := (all - 2) * step / time.Duration(runtime.GOMAXPROCS(0)) // the first two begin at once
	if took := time.Since(began); took < least {
		t.Errorf("%d attempts took %v, want at least %v", all, took, least)
	}
}

// TestRetrier_Send_Unrecorded begins no attempt while the records of 64 others wait for the store.
func TestRetrier_Send_Unrecorded(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const all, first, second, most = 300, 16, 64, 64
	r.holds(all)
	j, now := r.recoverAll()
	var asked atomic.Int64
	may := make(chan struct{})
	r.faulty.Before(func(ops []store.Op) error {
		if ops[0].Entity == delivery.Entity {
			asked.Add(1)
			<-may
		}
		return nil
	})
	answer := r.receiver.Gate()
	arrive := func(n, in int) { // all arrive before the first has its answer, which would free a slot
		for range n {
			r.receiver.Next()
		}
		answer()
		worktest.Until(t, fmt.Sprintf("%d records wait or are written", in), func() bool { return asked.Load() == int64(in) })
	}
	write := func(n int) {
		for range n {
			may <- struct{}{}
		}
	}
	ended := make(chan time.Time)
	go func() { ended <- r.handle(j) }()
	arrive(first, first)
	answer = r.receiver.Gate()
	write(1)
	arrive(second, first+second) // the window has grown
	enough := first + second - most
	write(enough - 1)
	worktest.Until(t, "the records are written", func() bool { return r.count()[delivery.Delivered] == enough })
	r.wantSent(first + second)
	write(1)
	r.receiver.Next()
	close(may)
	r.wantDone("the message", <-ended, all)
	r.wantFinished(now(), all)
}

// gated answers requests when it is closed.
type gated chan struct{}

// RoundTrip implements http.RoundTripper.
func (g gated) RoundTrip(r *http.Request) (*http.Response, error) {
	<-g
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
}

// TestRetrier_Send_Full asks once in a while for a slot while messages have them all.
func TestRetrier_Send_Full(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		open := make(gated)
		b := worktest.New(t)
		b.Client = outbound.New(outbound.Options{Transport: open})
		r := &running{Harness: b, faulty: &worktest.Store{Store: b.Store}}
		b.Register(worktest.Endpoint{Company: "a", Provider: "webhook", URL: "https://example.com/", Secrets: []string{b.Secret()}, Events: []string{"memory.*"}})
		const slots, most = 16, 1000
		var looks atomic.Int64
		r.Retrier = r.make(courier.Deps{Fresh: time.Minute, Now: func() time.Time {
			if looks.Add(1) > most { // no time passes in a loop without a wait: end it
				return time.Now().Add(time.Hour)
			}
			return time.Now()
		}})
		held := r.deliver(slots, func(d *delivery.Delivery) { d.Hold("disabled") })
		j, now := r.recoverAll()
		ended := make(chan time.Time, slots+1)
		for n := range slots {
			message := r.deliver(n)
			go func() { ended <- r.handle(message) }()
		}
		synctest.Wait()
		looks.Store(0)
		go func() { ended <- r.handle(j) }()
		<-time.After(9 * time.Second)
		if got := looks.Load(); got > most/2 {
			t.Errorf("the recovery looked at the clock %d times while others had the slots, want at most %d", got, most/2)
		}
		close(open)
		for range slots + 1 {
			if due := <-ended; !due.IsZero() {
				t.Errorf("a message is due again at %v, want never", due)
			}
		}
		r.wantRecord(held, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 1, Generation: 2, Recovery: j.Recovery}})
		r.wantFinished(now(), 1)
	})
}

// TestRetrier_Send_Queue puts deliveries that stand in a line, or go on with their schedule, into the queue.
func TestRetrier_Send_Queue(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
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
		r.wantRecord(lost, delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Made: 1, Generation: 2, NextAttemptAt: &due, Recovery: j.Recovery}})
		r.wantStates("recovered", line, delivery.Scheduled, delivery.Waiting)
	})
}

// TestRetrier_Send_Two lets one recovery at a time send to an endpoint.
func TestRetrier_Send_Two(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
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
	})
}

// TestRetrier_Send_Killed goes on after a run that ended in the middle of a page, and counts each delivery once.
func TestRetrier_Send_Killed(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
		jobs := r.holds(5)
		j, now := r.recoverAll()
		for n, state := range []delivery.State{delivery.Delivered, delivery.Failed} { // a failed one is recoverable, but was sent
			sent := r.record(jobs[n])
			sent.Begin(j.Recovery)
			sent.Log(delivery.Attempt{Number: 2, State: state, At: r.Clock.Now()})
			sent.End(state)
			r.save(sent)
		}
		r.wantDone("the message", r.handle(j), 3)
		r.wantFinished(now(), 5)
	})
}

// TestRetrier_Send_Leased waits for the run of another Lambda. A killed run's hold of the endpoint ends.
func TestRetrier_Send_Leased(t *testing.T) {
	t.Parallel()
	r := setupShared(t)
	r.holds(3)
	j, now := r.recoverAll()
	c := r.Company("a")
	held := map[string]any{"circuit": struct{}{}, "occupied": r.Clock.Now().Add(time.Minute)}
	errtest.Must(t, c.Commit(t.Context(), c.Create(integration.BoundsKey("webhook", ""), integration.BoundsEntity, held).Quietly()))
	r.wantWait(r.handle(j), 10*time.Second, 15*time.Second)
	r.wantSent(0)
	r.Clock.Advance(time.Minute + time.Second)
	r.wantDone("the message after the hold", r.handle(j), 3)
	r.wantFinished(now(), 3)
}

// TestRetrier_Send_NotRecorded repeats a write that has failed, and not its attempt. It begins no attempt while writes fail.
func TestRetrier_Send_NotRecorded(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, r *running) {
		t.Helper()
		const all = 40
		r.holds(all)
		j, now := r.recoverAll()
		r.faulty.Once(delivery.Entity, store.ErrUnavailable)
		r.wantDone("the message", r.handle(j), all)
		r.wantFinished(now(), all)
		if diff := cmp.Diff(map[delivery.State]int{delivery.Delivered: all}, r.count()); diff != "" {
			t.Errorf("states differ (-want +got):\n%s", diff)
		}
	})
}
