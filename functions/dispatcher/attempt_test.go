package dispatcher_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"orgops/functions/dispatcher"
	"orgops/shared/delivery"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/worktest"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	status := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	tests := []struct {
		name   string
		answer http.HandlerFunc
		state  delivery.State
		status int
		least  time.Duration // until the next attempt
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
				t.Errorf("the endpoint: enabled %t, %+v", i.Enabled, i.Disabled)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
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

// check looks at the one delivery of company a, and at the message of one that is scheduled.
func (r *running) check(t *testing.T, state delivery.State, status int, least time.Duration) {
	t.Helper()
	d := r.deliveries("a")[0]
	last, made := d.Last()
	if d.State != state || !made || last.Status != status || d.Made != 1 {
		t.Errorf("on record is %+v", d)
	}
	if (last.Error == "") != (state == delivery.Delivered) {
		t.Errorf("the attempt says %q", last.Error)
	}
	if state != delivery.Scheduled {
		if d.NextAttemptAt != nil || d.Requests != 0 {
			t.Errorf("settled, and still due: %+v", d)
		}
		return
	}
	wait := d.NextAttemptAt.Sub(r.Clock.Now())
	if wait < least || wait > least+max(2*time.Second, least/5) || d.Requests != 1 {
		t.Errorf("due after %v, request %d", wait, d.Requests)
	}
	r.Clock.Set(*d.NextAttemptAt)
	if got := message[delivery.Job](r, r.Retries); got != (delivery.Job{Company: "a", Delivery: d.EventID + "#webhook", Request: 1}) {
		t.Errorf("message %+v", got)
	}
}

// TestNotRecorded: an attempt whose record is lost is made again, as the same delivery.
func TestNotRecorded(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.faulty.Once(delivery.Entity, store.ErrUnavailable)
	r.remember("a", 1)
	first, second := receiver.Next(), receiver.Next()
	if first.ID != second.ID || string(first.Body) != string(second.Body) {
		t.Errorf("sent as %s and then as %s", first.ID, second.ID)
	}
	if states := r.settled("a", 1); states[delivery.Delivered] != 1 {
		t.Errorf("%v", states)
	}
}

// TestSeparate: where that is cheaper, each result is written by itself, however many there are at once.
func TestSeparate(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.dispatcher = dispatcher.New(dispatcher.Deps{
		Store: r.faulty, Courier: r.Courier(), Retries: r.retries, Syncs: r.Syncs, Logger: r.Logger, Now: r.Clock.Now, Separate: true,
	})
	r.dispatcher.WaitFor(time.Hour)
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

// TestReplay: what is on record is not sent again, and neither is what nobody can tell about.
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
		store.Batch{Changes: changes[:2]}, // a promise that does not hold: the record's condition does
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
		t.Errorf("%d deliveries on record", n)
	}
	f = feedOf(store.Batch{Changes: changes, Replay: true})
	again := setupOn(r)
	again.run(f)
	if err := <-f.finished; err != nil {
		t.Error(err)
	}
	if got := receiver.All(); len(got) != sent+1 || got[sent].ID == got[0].ID {
		t.Errorf("a replay sent %d deliveries, want the one that is new", len(got)-sent)
	}
}

// brokenFeed is a feed that cannot be consumed.
type brokenFeed struct{ why error }

func (f brokenFeed) Consume(context.Context, string, func(context.Context, store.Batch, func(error))) error {
	return f.why
}

// TestFeedFails: a feed that ends by itself ends the dispatcher, which says why.
func TestFeedFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), worktest.Patience)
	defer cancel()
	away := errors.New("away")
	if err := setup(t).dispatcher.Run(ctx, brokenFeed{away}); !errors.Is(err, away) || ctx.Err() != nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
}

// TestQueueFails: a batch whose message was not stored is handed over again, and nothing is sent twice for it.
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
		t.Errorf("sent %d times", n)
	}
}

// TestBrokenEndpoint: secrets that cannot be opened keep their own endpoint waiting, and nobody else.
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
		t.Error("sent without its secrets")
	}
}

// TestFirstAttempt: an endpoint that does not answer is given up after five seconds, for others wait.
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
		t.Errorf("%v, want it to be tried again", states)
	}
	if took := <-hung; took < 2*time.Second || took > 12*time.Second {
		t.Errorf("given up after %v", took)
	}
}
