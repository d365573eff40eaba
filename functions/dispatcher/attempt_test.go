package dispatcher_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"orgops/functions/dispatcher"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/worktest"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	status := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	tests := []struct {
		name   string
		answer http.HandlerFunc
		state  delivery.State
		status int
		least  time.Duration // minimum until the next attempt
	}{
		{"200", status(200), delivery.Delivered, 200, 0},
		{"202", status(202), delivery.Delivered, 202, 0},
		{"a redirect", func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/elsewhere", http.StatusFound) }, delivery.Scheduled, 302, 4 * time.Second},
		{"404", status(404), delivery.Scheduled, 404, 4 * time.Second},
		{"410", status(410), delivery.Failed, 410, 0},
		{"429 with Retry-After", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, delivery.Scheduled, 429, time.Hour},
		{"500", status(500), delivery.Scheduled, 500, 4 * time.Second},
		{"a broken connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, delivery.Scheduled, 0, 4 * time.Second},
		{"no answer in time", func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, delivery.Scheduled, 0, 4 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			receiver := r.Receive()
			receiver.Answer(tt.answer)
			r.Subscribe("a", "webhook", receiver, "memory.*")
			r.remember("a", 1)
			r.settled("a", 1)
			r.check(t, tt.state, tt.status, tt.least)
			var i integration.Integration
			r.Get("a", integration.Key("webhook"), &i)
			gone := tt.state == delivery.Failed
			if i.Enabled == gone || gone && i.Disabled.Reason != integration.DisabledGone {
				t.Errorf("after the attempt the endpoint has enabled %t, %+v", i.Enabled, i.Disabled)
			}
		})
	}
	t.Run("no listener", func(t *testing.T) {
		t.Parallel()
		r := start(t)
		r.Register(worktest.Endpoint{
			Company: "a", Provider: "webhook", URL: "http://127.0.0.1:1", Secrets: []string{r.Secret()}, Events: []string{"memory.*"},
		})
		r.remember("a", 1)
		r.settled("a", 1)
		r.check(t, delivery.Scheduled, 0, 4*time.Second)
	})
}

// check verifies the only delivery of company a and, if it is scheduled, its message.
func (r *running) check(t *testing.T, state delivery.State, status int, least time.Duration) {
	t.Helper()
	d := r.deliveries("a")[0]
	last, made := d.Last()
	if d.State != state || !made || last.Status != status || d.Made != 1 {
		t.Errorf("the record is %+v", d)
	}
	if (last.Error == "") != (state == delivery.Delivered) {
		t.Errorf("the attempt's error is %q", last.Error)
	}
	if state != delivery.Scheduled {
		if d.NextAttemptAt != nil || d.Generation != 0 {
			t.Errorf("settled but still due: %+v", d)
		}
		return
	}
	wait := d.NextAttemptAt.Sub(r.Clock.Now())
	if wait < least || wait > least+max(2*time.Second, least/5) || d.Generation != 1 {
		t.Errorf("due after %v, generation %d", wait, d.Generation)
	}
	r.Clock.Set(*d.NextAttemptAt)
	if got := message[delivery.Job](r, r.Retries); got != (delivery.Job{Company: "a", Delivery: d.EventID + "#webhook", Generation: 1}) {
		t.Errorf("message %+v", got)
	}
}

// TestNotRecorded repeats an attempt whose record is lost, as the same delivery.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.faulty.Once(delivery.Entity, store.ErrUnavailable)
	r.remember("a", 1)
	first, second := receiver.Next(), receiver.Next()
	if first.ID != second.ID || string(first.Body) != string(second.Body) {
		t.Errorf("sent as %s and then as %s, want the same delivery", first.ID, second.ID)
	}
	if states := r.settled("a", 1); states[delivery.Delivered] != 1 {
		t.Errorf("%v", states)
	}
}

// TestSeparate checks that Separate writes each result in its own transaction, however many arrive at once.
func TestSeparate(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.dispatcher = dispatcher.New(dispatcher.Deps{
		Store: r.faulty, Courier: r.Courier(), Retries: r.retries, Syncs: r.Syncs, Logger: r.Logger, Now: r.Clock.Now, Separate: true,
	})
	r.dispatcher.SetBudget(time.Hour)
	r.faulty.Before(func(ops []store.Op) error {
		if len(ops) > 1 {
			t.Errorf("%d records in one transaction", len(ops))
		}
		return nil
	})
	receiver := r.Receive()
	answer := receiver.Gate()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.rememberMany("a", 12)
	r.run(r.Store)
	for range 12 {
		receiver.Next()
	}
	answer() // all at once
	if states := r.settled("a", 12); states[delivery.Delivered] != 12 {
		t.Errorf("%v", states)
	}
}

// TestReplay checks that a replay does not send deliveries that are recorded, or whose record cannot be read.
func TestReplay(t *testing.T) {
	t.Parallel()
	r := setup(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.remember("a", 1)
	r.remember("a", 2)
	changes := r.Changes(3)
	f := feedOf(
		store.Batch{Changes: changes[:2]},
		store.Batch{Changes: changes[:2]}, // a redelivery without Replay: only the record's condition detects it
	)
	r.run(f)
	for range 2 {
		if err := <-f.finished; err != nil {
			t.Error(err)
		}
	}
	r.stop()
	sent := len(receiver.All())
	if n := len(r.deliveries("a")); n != 1 {
		t.Errorf("%d deliveries recorded, want 1", n)
	}
	f = feedOf(store.Batch{Changes: changes, Replay: true})
	again := setupOn(r)
	again.run(f)
	if err := <-f.finished; err != nil {
		t.Error(err)
	}
	if got := receiver.All(); len(got) != sent+1 || got[sent].ID == got[0].ID {
		t.Errorf("a replay sent %d deliveries, want only the new one", len(got)-sent)
	}
}

// brokenFeed fails to be consumed.
type brokenFeed struct{ why error }

func (f brokenFeed) Consume(context.Context, string, func(context.Context, store.Batch, func(error))) error {
	return f.why
}

// TestFeedFails checks that Run returns the error of a feed that ends.
func TestFeedFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), worktest.Patience)
	defer cancel()
	away := errors.New("away")
	if err := setup(t).dispatcher.Run(ctx, brokenFeed{away}); !errors.Is(err, away) || ctx.Err() != nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
}

// TestQueueFails checks that a batch whose message could not be queued is redelivered, without sending a delivery twice.
func TestQueueFails(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	receiver.Status(500)
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.retries.Fail <- errors.New("no queue")
	r.remember("a", 1)
	r.settled("a", 1)
	r.check(t, delivery.Scheduled, 500, 4*time.Second)
	if n := len(receiver.All()); n != 1 {
		t.Errorf("sent %d times, want once", n)
	}
}

// TestBrokenEndpoint checks that secrets that cannot be decrypted delay their own endpoint and no other.
func TestBrokenEndpoint(t *testing.T) {
	t.Parallel()
	r := start(t)
	broken, well := r.Receive(), r.Receive()
	r.Subscribe("a", "webhook", broken, "memory.*")
	r.Put("a", integration.CredentialKey("webhook"), integration.CredentialEntity, map[string]any{"sealed": []byte("not sealed")})
	r.Subscribe("a", "webhook-well", well, "memory.*")
	r.remember("a", 1)
	well.Next()
	if states := r.settled("a", 2); states[delivery.Scheduled] != 1 || states[delivery.Delivered] != 1 {
		t.Errorf("%v", states)
	}
	if len(broken.All()) != 0 {
		t.Error("sent without a signature")
	}
}

// TestFirstAttempt checks that a first attempt times out after five seconds, because other deliveries wait.
func TestFirstAttempt(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	hung := make(chan time.Duration, 1)
	receiver.Answer(func(_ http.ResponseWriter, req *http.Request) {
		begun := time.Now()
		<-req.Context().Done()
		hung <- time.Since(begun)
	})
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.remember("a", 1)
	if states := r.settled("a", 1); states[delivery.Scheduled] != 1 {
		t.Errorf("%v, want a retry", states)
	}
	if took := <-hung; took < 2*time.Second || took > 12*time.Second {
		t.Errorf("timed out after %v", took)
	}
}
