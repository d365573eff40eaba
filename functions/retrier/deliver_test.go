package retrier_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orgops/functions/retrier"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

func TestDelivered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("due again at %v", due)
	}
	d := r.record(j)
	last, _ := d.Last()
	if d.State != delivery.Delivered || d.NextAttemptAt != nil || len(d.Attempts) != 2 || last.Number != 2 || last.Status != 204 {
		t.Errorf("the record is %+v", d)
	}
	if got := r.receiver.Next(); string(got.Body) != string(d.Payload) {
		t.Errorf("sent %s", got.Body)
	}
	if due := r.handle(j); !due.IsZero() || r.sent() != 1 {
		t.Errorf("a redelivered message: due %v, sent %d times", due, r.sent())
	}
}

// TestSchedule makes all attempts of a delivery that never succeeds, from one message.
func TestSchedule(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(500)
	j := r.deliver(1)
	waits := []time.Duration{
		5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	for n, want := range waits {
		due := r.handle(j)
		wait := due.Sub(r.Clock.Now())
		if wait < want*8/10 || wait > want*12/10 {
			t.Fatalf("attempt %d is due after %v, want %v ±20 %%", n+3, wait, want)
		}
		if d := r.record(j); d.State != delivery.Scheduled || !d.NextAttemptAt.Equal(due) || d.Generation != 1 || d.Made != n+2 {
			t.Fatalf("the record is %+v", d)
		}
		if early := r.handle(j); !early.Equal(due) || r.sent() != n+1 {
			t.Fatalf("an early message is due at %v, sent %d times", early, r.sent())
		}
		r.Clock.Set(due)
	}
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("due again after the last attempt, at %v", due)
	}
	if d := r.record(j); d.State != delivery.Dead || d.NextAttemptAt != nil || len(d.Attempts) != 10 || d.Made != 10 {
		t.Errorf("after ten attempts the delivery is %+v", d)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer http.HandlerFunc
		state  delivery.State
		least  time.Duration
	}{
		{"redirect", func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/", http.StatusMovedPermanently)
		}, delivery.Scheduled, 4 * time.Minute},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, delivery.Failed, 0},
		{"throttled", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(429)
		}, delivery.Scheduled, 2 * time.Hour},
		{"Retry-After sooner than the schedule", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
		}, delivery.Scheduled, 4 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.receiver.Answer(tt.answer)
			j := r.deliver(1)
			due := r.handle(j)
			if d := r.record(j); d.State != tt.state || due.IsZero() != (tt.state != delivery.Scheduled) {
				t.Fatalf("due %v, record %+v", due, d)
			}
			if !due.IsZero() && due.Sub(r.Clock.Now()) < tt.least {
				t.Errorf("due after %v", due.Sub(r.Clock.Now()))
			}
			var i integration.Integration
			r.Get("a", integration.Key("webhook"), &i)
			if gone := tt.state == delivery.Failed; gone == i.Enabled || gone && (i.Disabled.Reason != integration.DisabledGone || i.State != integration.Certified) {
				t.Errorf("the endpoint is %+v", i)
			}
		})
	}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	tests := []struct {
		because string
		change  func(*running)
	}{
		{"disabled", func(r *running) { r.Change("a", "webhook", func(i *integration.Integration) { i.Enabled = false }) }},
		{"sandbox", func(r *running) { r.Clock.Advance(integration.CertifiedFor) }},
		{"deleted", func(r *running) {
			c := r.Company("a")
			errtest.Must(r.T, c.Commit(r.T.Context(), c.Delete(integration.Key("webhook"), integration.Entity, 1)))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.because, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			tt.change(r)
			j := r.deliver(1)
			if due := r.handle(j); !due.IsZero() {
				t.Errorf("due again at %v", due)
			}
			if d := r.record(j); d.State != delivery.Held || d.HeldBecause != tt.because || r.sent() != 0 {
				t.Errorf("the record is %+v", d)
			}
		})
	}
}

// TestGenerations ignores the messages of older generations, and sends a delivered delivery again after a restart.
func TestGenerations(t *testing.T) {
	t.Parallel()
	r := setup(t)
	first := r.deliver(1)
	d := r.record(first)
	d.Restart(r.Clock.Now())
	r.save(d)
	if due := r.handle(first); !due.IsZero() || r.sent() != 0 {
		t.Errorf("the message of an earlier generation: due %v, sent %d times", due, r.sent())
	}
	r.handle(job(d))
	if d = r.record(first); d.State != delivery.Delivered || r.sent() != 1 {
		t.Fatalf("the record is %+v", d)
	}
	d.Restart(r.Clock.Now())
	r.save(d)
	r.handle(job(d))
	if d = r.record(first); d.State != delivery.Delivered || r.sent() != 2 || d.Made != 1 || len(d.Attempts) != 3 {
		t.Errorf("after a retry of a delivered delivery: %+v", d)
	}
	if due := r.handle(delivery.Job{Company: "a", Delivery: "gone#webhook", Generation: 1}); !due.IsZero() {
		t.Errorf("a delivery that has expired is due at %v", due)
	}
}

// TestTwoMessages checks that only one of two concurrent messages for a delivery sends it.
func TestTwoMessages(t *testing.T) {
	t.Parallel()
	r := setup(t)
	open := r.receiver.Gate()
	j := r.deliver(1)
	ended := make(chan time.Time)
	go func() { ended <- r.handle(j) }()
	r.receiver.Next()
	if due := r.handle(j); !due.After(r.Clock.Now()) || due.After(r.Clock.Now().Add(3*time.Second)) {
		t.Errorf("the second message is due at %v", due)
	}
	open()
	if due := <-ended; !due.IsZero() || r.sent() != 1 {
		t.Errorf("due %v, sent %d times", due, r.sent())
	}
	if due := r.handle(j); !due.IsZero() || r.sent() != 1 {
		t.Errorf("the second message, later: due %v, sent %d times", due, r.sent())
	}
}

// slow delays the first read of a delivery until the test releases it.
type slow struct {
	store.Store
	begun        atomic.Bool
	read, answer chan struct{}
}

func (s *slow) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	item, err := s.Store.Get(ctx, p, key)
	if strings.HasPrefix(key, delivery.Prefix) && s.begun.CompareAndSwap(false, true) {
		close(s.read)
		<-s.answer
	}
	return item, err
}

// TestTwoMessages_Overtaken checks that a message does not send a delivery that another message sent since the record was
// read.
func TestTwoMessages_Overtaken(t *testing.T) {
	t.Parallel()
	r := setup(t)
	s := &slow{Store: r.faulty, read: make(chan struct{}), answer: make(chan struct{})}
	r.Retrier = retrier.New(retrier.Deps{Store: s, Courier: r.Courier(), Queue: r.Retries, Logger: r.Logger, Now: r.Clock.Now})
	j := r.deliver(1)
	ended := make(chan time.Time)
	go func() { ended <- r.handle(j) }()
	<-s.read
	r.handle(j)
	close(s.answer)
	if due := <-ended; !due.IsZero() || r.sent() != 1 {
		t.Errorf("due %v, sent %d times", due, r.sent())
	}
}

// TestRequestedMeanwhile keeps a retry that is requested during an attempt.
func TestRequestedMeanwhile(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	var requested delivery.Delivery
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		requested = r.record(j)
		requested.Restart(r.Clock.Now())
		r.save(requested)
		w.WriteHeader(204)
	})
	if due := r.handle(j); !due.Equal(r.Clock.Now()) {
		t.Errorf("due at %v, want at once", due)
	}
	r.receiver.Answer(nil)
	if due := r.handle(j); !due.IsZero() || r.sent() != 1 {
		t.Errorf("the superseded message: due %v, sent %d times", due, r.sent())
	}
	r.handle(job(requested))
	if d := r.record(j); d.State != delivery.Delivered || r.sent() != 2 {
		t.Errorf("the record is %+v", d)
	}
}

// TestNotRecorded repeats an attempt whose record is lost.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	body, err := json.Marshal(j)
	errtest.Must(t, err)
	r.faulty.Once(delivery.Entity, store.ErrUnavailable)
	if _, err := r.Handle(context.Background(), body); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("err = %v", err)
	}
	r.handle(j)
	got := r.receiver.All()
	if d := r.record(j); d.State != delivery.Delivered || len(got) != 2 || got[0].ID != got[1].ID {
		t.Errorf("sent %d times, record %+v", len(got), d)
	}
}

// TestBreaker stops sending after five failures in a row, until a single probe succeeds.
func TestBreaker(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(500)
	for n := range 5 {
		r.handle(r.deliver(n))
	}
	waiting := []delivery.Job{r.deliver(10), r.deliver(11)}
	var due time.Time
	for _, j := range waiting {
		due = r.handle(j)
		if wait := due.Sub(r.Clock.Now()); wait < 30*time.Second || r.sent() != 5 {
			t.Fatalf("due after %v, %d attempts", wait, r.sent())
		}
		if d := r.record(j); d.Made != 1 || d.State != delivery.Scheduled {
			t.Errorf("a delivery that was not sent counts as an attempt: %+v", d)
		}
	}
	r.Clock.Advance(40 * time.Second)
	r.handle(waiting[0]) // the probe
	if wait := r.handle(waiting[1]).Sub(r.Clock.Now()); wait < time.Minute || r.sent() != 6 {
		t.Fatalf("after a failed probe: due after %v, %d attempts", wait, r.sent())
	}
	r.receiver.Answer(nil)
	r.Clock.Advance(70 * time.Second)
	for _, j := range []delivery.Job{waiting[1], r.deliver(12)} {
		if r.handle(j); r.record(j).State != delivery.Delivered {
			t.Errorf("the breaker did not close: %+v", r.record(j))
		}
	}
}

// TestThrottled applies an endpoint's Retry-After to its other deliveries too.
func TestThrottled(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(429)
	})
	r.handle(r.deliver(1))
	if wait := r.handle(r.deliver(2)).Sub(r.Clock.Now()); wait < 2*time.Minute || r.sent() != 1 {
		t.Errorf("due after %v, %d attempts", wait, r.sent())
	}
}

// TestSlots bounds the attempts of a hanging endpoint, while others continue.
func TestSlots(t *testing.T) {
	t.Parallel()
	r := setup(t)
	well := r.Receive()
	r.Subscribe("a", "webhook-well", well, "memory.*")
	open := r.receiver.Gate()
	const slots = 4
	ended := make(chan time.Time, slots)
	for n := range slots {
		j := r.deliver(n)
		go func() { ended <- r.handle(j) }()
		r.receiver.Next()
	}
	if wait := r.handle(r.deliver(9)).Sub(r.Clock.Now()); wait < time.Second || wait > 3*time.Second || r.sent() != slots {
		t.Errorf("due after %v, %d attempts", wait, r.sent())
	}
	r.handle(r.deliver(10, func(d *delivery.Delivery) { d.Endpoint = "webhook-well" }))
	well.Next()
	open()
	for range slots {
		if due := <-ended; !due.IsZero() {
			t.Errorf("due at %v", due)
		}
	}
}

func TestFailingForDays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		since    time.Duration
		disabled bool
	}{
		{"five days", 5 * 24 * time.Hour, true},
		{"less", 5*24*time.Hour - time.Minute, false},
		{"never", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.receiver.Status(500)
			c := projection.Empty("a")
			since := projection.Integration{}
			if tt.since > 0 {
				since.FailingSince = r.Clock.Now().Add(-tt.since)
			}
			c.Integrations["webhook"] = since
			r.Put("a", projection.Key, projection.Entity, c)
			r.handle(r.deliver(1))
			var i integration.Integration
			r.Get("a", integration.Key("webhook"), &i)
			if i.Enabled == tt.disabled {
				t.Fatalf("enabled %t after failing for %v", i.Enabled, tt.since)
			}
			if tt.disabled && (i.Disabled.Reason != integration.DisabledFailing || i.State != integration.Sandbox || i.SandboxedCause != integration.SandboxedByFailing) {
				t.Errorf("disabled as %+v", i)
			}
		})
	}
}
