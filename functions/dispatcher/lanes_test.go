package dispatcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// perEndpoint repeats the limit of concurrent attempts per endpoint from lanes.go.
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

// TestHangingEndpoint delivers to other endpoints while one endpoint hangs with a long line of jobs.
func TestHangingEndpoint(t *testing.T) {
	t.Parallel()
	r := patient(t)
	hanging, open := r.fill("a", 200)
	well := r.Receive()
	r.Subscribe("b", "webhook", well, "memory.*")
	for i := range 50 {
		r.remember("b", i)
	}
	if states := r.settled("b", 50); states[delivery.Delivered] != 50 {
		t.Errorf("%v", states)
	}
	if n := len(r.deliveries("a")); n != 0 || len(hanging.All()) != perEndpoint {
		t.Errorf("%d recorded and %d in flight at the hanging endpoint", n, len(hanging.All()))
	}
	open()
	if states := r.settled("a", 200); states[delivery.Delivered] != 200 {
		t.Errorf("%v", states)
	}
}

// TestStalled checks that new deliveries to a stalled endpoint go to the queue at once, and that the waiting ones follow.
func TestStalled(t *testing.T) {
	t.Parallel()
	r := patient(t)
	_, open := r.fill("a", perEndpoint+10)
	r.Clock.Advance(time.Second)
	r.remember("a", 1000)
	if states := r.settled("a", 1); states[delivery.Scheduled] != 1 {
		t.Errorf("%v, want the new one scheduled", states)
	}
	r.Clock.Advance(2 * time.Second)
	if states := r.settled("a", 11); states[delivery.Scheduled] != 11 {
		t.Errorf("%v, want the waiting ones scheduled", states)
	}
	for _, d := range r.deliveries("a") {
		if d.Generation != 1 || d.Made != 0 {
			t.Errorf("spilled as %+v", d)
		}
	}
	open()
	if states := r.settled("a", perEndpoint+11); states[delivery.Delivered] != perEndpoint {
		t.Errorf("%v", states)
	}
}

// TestLargeOverflow checks that at most a megabyte waits in a lane.
func TestLargeOverflow(t *testing.T) {
	t.Parallel()
	r := patient(t)
	r.fill("a", perEndpoint)
	for i := range 80 { // 16 kB each
		r.Put("a", "MEMORY#large"+string(rune('A'+i)), "memory", map[string]string{"title": strings.Repeat("x", 16<<10)})
	}
	if states := r.settled("a", 80-1<<20/(16<<10)); states[delivery.Scheduled] < 10 {
		t.Errorf("%v", states)
	}
}

// TestStop schedules the waiting jobs for the retrier and finishes those in flight.
func TestStop(t *testing.T) {
	t.Parallel()
	r := patient(t)
	hanging, open := r.fill("a", perEndpoint+100)
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.stop() }()
	if states := r.settled("a", 100); states[delivery.Scheduled] != 100 {
		t.Errorf("%v, want the waiting jobs scheduled", states)
	}
	open()
	<-stopped
	if states := r.settled("a", perEndpoint+100); states[delivery.Delivered] != perEndpoint || len(hanging.All()) != perEndpoint {
		t.Errorf("%v, want the jobs in flight delivered", states)
	}
}

// TestChangedWhileWaiting checks that a waiting delivery follows the current state of its endpoint.
func TestChangedWhileWaiting(t *testing.T) {
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
			if states := r.settled("a", perEndpoint+5); states[delivery.Held] != 5 || len(hanging.All()) != perEndpoint {
				t.Errorf("%v after %d attempts", states, len(hanging.All()))
			}
			for _, d := range r.deliveries("a") {
				if d.State == delivery.Held && d.HeldBecause != tt.because {
					t.Errorf("held because of %s", d.HeldBecause)
				}
			}
		})
	}
}

// TestGone checks that a 410 stops the deliveries that wait behind it.
func TestGone(t *testing.T) {
	t.Parallel()
	r := patient(t)
	receiver, open := r.fill("a", perEndpoint)
	receiver.Status(410)
	const behind = 40
	for i := range behind {
		r.remember("a", 100+i)
	}
	open()
	states := r.settled("a", perEndpoint+behind)
	if sent := len(receiver.All()); states[delivery.Failed]+states[delivery.Held] != behind || sent > 2*perEndpoint {
		t.Errorf("%v after %d attempts", states, sent)
	}
}

// TestRateLimit schedules the deliveries over the rate limit, at different times.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Register(worktest.Endpoint{
		Company: "a", Provider: "webhook", URL: receiver.URL, Secrets: receiver.Secrets, Events: []string{"memory.*"}, RateLimit: 10,
	})
	for i := range 11 {
		r.remember("a", i)
	}
	if states := r.settled("a", 11); states[delivery.Delivered] != 1 || states[delivery.Scheduled] != 10 || len(receiver.All()) != 1 {
		t.Errorf("%v after %d attempts", states, len(receiver.All()))
	}
	due := map[time.Duration]bool{}
	for _, d := range r.deliveries("a") {
		if d.State == delivery.Scheduled {
			due[d.NextAttemptAt.Sub(r.Clock.Now())] = true
		}
	}
	for n := range 10 {
		if wait := time.Duration(n+1) * 100 * time.Millisecond; !due[wait] {
			t.Errorf("no delivery is due after %v: %v", wait, due)
		}
	}
}

// TestBreaker stops sending to an endpoint that keeps failing, or that asks for a pause.
func TestBreaker(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	receiver.Status(503)
	r.Subscribe("a", "webhook", receiver, "memory.*")
	for i := range 8 {
		r.remember("a", i)
		r.settled("a", i+1)
	}
	if n := len(receiver.All()); n != 5 {
		t.Errorf("%d attempts, want 5 before the breaker opens", n)
	}
	receiver.Answer(nil)
	r.Clock.Advance(time.Minute)
	for i := range 3 {
		r.remember("a", 100+i)
		if states := r.settled("a", 8+i+1); states[delivery.Delivered] != i+1 {
			t.Errorf("%v: the breaker did not close", states)
		}
	}
}
