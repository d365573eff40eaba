package dispatcher_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// perEndpoint repeats the number of concurrent attempts to an endpoint that has not answered yet, from window.go in courier.
const perEndpoint = 16

// fill subscribes a receiver that hangs and sends it n events. It returns when all slots of the receiver are taken. The
// caller needs a patient dispatcher.
func (r *running) fill(company string, n int) (receiver *worktest.Receiver, open func()) {
	r.T.Helper()
	receiver = r.Receive()
	open = receiver.Gate()
	r.Subscribe(company, "webhook", receiver, "memory.*")
	r.rememberMany(company, n)
	for range min(n, perEndpoint) {
		receiver.Next()
	}
	r.handled()
	return receiver, open
}

// handled returns when the dispatcher has handled everything that was committed before.
func (r *running) handled() {
	r.T.Helper()
	company := fmt.Sprintf("barrier-%d", r.barriers)
	r.barriers++
	receiver := r.Receive()
	r.Subscribe(company, "webhook", receiver, "memory.*")
	r.remember(company, 0)
	receiver.Next()
}

// TestDispatcher_HangingEndpoint delivers to other endpoints while one endpoint hangs with a long line of jobs.
func TestDispatcher_HangingEndpoint(t *testing.T) {
	t.Parallel()
	r := patient(t)
	hanging, open := r.fill("a", 200)
	well := r.Receive()
	r.Subscribe("b", "webhook", well, "memory.*")
	for i := range 50 {
		r.remember("b", i)
	}
	r.wantSettled("b", states{delivery.Delivered: 50})
	r.wantSettled("a", states{})
	r.wantReceived(hanging, perEndpoint)
	open()
	r.wantSettled("a", states{delivery.Delivered: 200})
}

// TestDispatcher_SlowEndpoint sends a slow endpoint four times as many deliveries at once with each round of its answers.
func TestDispatcher_SlowEndpoint(t *testing.T) {
	t.Parallel()
	r := patient(t)
	receiver := r.Receive()
	answers, failed := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(failed) })
	receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-answers:
			w.WriteHeader(http.StatusNoContent)
		case <-failed:
		}
	})
	r.Subscribe("a", "webhook", receiver, "memory.*")
	const all = 1000
	r.rememberMany("a", all)
	sent := 0
	for _, round := range []int{16, 64, 256, all - 16 - 64 - 256} {
		for range round {
			receiver.Next()
		}
		r.handled()
		sent += round
		r.wantReceived(receiver, sent)
		for range round {
			answers <- struct{}{}
		}
	}
	r.wantSettled("a", states{delivery.Delivered: all})
}

// TestDispatcher_Stalled checks that deliveries to a hanging endpoint go to the queue after they have waited for ten seconds.
func TestDispatcher_Stalled(t *testing.T) {
	t.Parallel()
	r := patient(t)
	_, open := r.fill("a", perEndpoint+10)
	r.Clock.Advance(9 * time.Second)
	r.remember("a", 1000)
	r.handled()
	r.Clock.Advance(2 * time.Second)
	r.wantSettled("a", states{delivery.Scheduled: 10})
	for _, d := range r.deliveries("a") {
		r.wantRecord(d, delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, NextAttemptAt: d.NextAttemptAt, Generation: 1}})
	}
	open()
	r.wantSettled("a", states{delivery.Scheduled: 10, delivery.Delivered: perEndpoint + 1})
}

// TestDispatcher_LargeOverflow checks that at most a megabyte waits in a lane.
func TestDispatcher_LargeOverflow(t *testing.T) {
	t.Parallel()
	r := patient(t)
	r.fill("a", perEndpoint)
	for i := range 80 { // 16 kB each
		r.Put("a", "MEMORY#large"+string(rune('A'+i)), "memory", map[string]string{"title": strings.Repeat("x", 16<<10)})
	}
	if got := r.settled("a", 80-1<<20/(16<<10)); got[delivery.Scheduled] < 10 {
		t.Errorf("%v, want at least 10 scheduled", got)
	}
}

// TestDispatcher_Stop schedules the waiting jobs for the retrier and finishes those in flight.
func TestDispatcher_Stop(t *testing.T) {
	t.Parallel()
	r := patient(t)
	hanging, open := r.fill("a", perEndpoint+100)
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.stop() }()
	r.wantSettled("a", states{delivery.Scheduled: 100}) // the waiting jobs
	open()
	<-stopped
	r.wantSettled("a", states{delivery.Scheduled: 100, delivery.Delivered: perEndpoint}) // and those in flight
	r.wantReceived(hanging, perEndpoint)
}

// TestDispatcher_ChangedWhileWaiting checks that a waiting delivery follows the current state of its endpoint.
func TestDispatcher_ChangedWhileWaiting(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  func(*running)
		because string
	}{
		{"disabled", func(r *running) {
			r.Change("a", "webhook", func(i *integration.Integration) { i.Enabled = false })
		}, "disabled"},
		{"deleted", func(r *running) {
			c := r.Company("a")
			item, err := c.Get(r.T.Context(), integration.Key("webhook"), nil)
			errtest.Must(r.T, err)
			errtest.Must(r.T, c.Commit(r.T.Context(), c.Delete(integration.Key("webhook"), integration.Entity, item.Version)))
		}, "deleted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := patient(t)
			hanging, open := r.fill("a", perEndpoint+5)
			tt.change(r)
			r.handled()
			open()
			r.wantSettled("a", states{delivery.Delivered: perEndpoint, delivery.Held: 5})
			r.wantReceived(hanging, perEndpoint)
			for _, d := range r.deliveries("a") {
				if d.State == delivery.Held && d.HeldBecause != tt.because {
					t.Errorf("held because of %q, want %q", d.HeldBecause, tt.because)
				}
			}
		})
	}
}

// TestDispatcher_Gone checks that a 410 stops the deliveries that wait behind it.
func TestDispatcher_Gone(t *testing.T) {
	t.Parallel()
	r := patient(t)
	receiver, open := r.fill("a", perEndpoint)
	receiver.Status(410)
	const behind = 150
	for i := range behind {
		r.remember("a", 100+i)
	}
	r.handled()
	open()
	got := r.settled("a", perEndpoint+behind)
	if n := got[delivery.Failed] + got[delivery.Held]; n != behind {
		t.Errorf("%v, want %d failed or held", got, behind)
	}
	const most = perEndpoint + 4*perEndpoint // the first answers have grown the window
	if sent := len(receiver.All()); sent > most {
		t.Errorf("%d attempts, want at most %d", sent, most)
	}
}

// TestDispatcher_RateLimit schedules the deliveries over the rate limit, at different times.
func TestDispatcher_RateLimit(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Register(worktest.Endpoint{
		Company: "a", Provider: "webhook", URL: receiver.URL, Secrets: receiver.Secrets, Events: []string{"memory.*"}, RateLimit: 10,
	})
	for i := range 11 {
		r.remember("a", i)
	}
	r.wantSettled("a", states{delivery.Delivered: 1, delivery.Scheduled: 10})
	r.wantReceived(receiver, 1)
	got, want := map[time.Duration]bool{}, map[time.Duration]bool{}
	for _, d := range r.deliveries("a") {
		if d.State == delivery.Scheduled {
			got[d.NextAttemptAt.Sub(r.Clock.Now())] = true
		}
	}
	for n := range 10 {
		want[time.Duration(n+1)*100*time.Millisecond] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the waits of the deliveries differ (-want +got):\n%s", diff)
	}
}

// TestDispatcher_Breaker stops sending to an endpoint that keeps failing, or that asks for a pause.
func TestDispatcher_Breaker(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	receiver.Status(503)
	r.Subscribe("a", "webhook", receiver, "memory.*")
	for i := range 8 {
		r.remember("a", i)
		r.settled("a", i+1)
	}
	r.wantReceived(receiver, 5) // then the breaker opened
	receiver.Answer(nil)
	r.Clock.Advance(time.Minute)
	for i := range 3 {
		r.remember("a", 100+i)
		r.wantSettled("a", states{delivery.Scheduled: 8, delivery.Delivered: i + 1}) // the breaker has closed
	}
}
