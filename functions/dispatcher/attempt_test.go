package dispatcher_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

func TestDispatcher_Outcomes(t *testing.T) {
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
		{"a redirect", func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/elsewhere", http.StatusFound)
		}, delivery.Scheduled, 302, 4 * time.Second},
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
			var want *integration.Disabled
			if tt.state == delivery.Failed {
				want = &integration.Disabled{Reason: integration.DisabledGone}
			}
			if diff := cmp.Diff(want, i.Disabled, cmpopts.IgnoreFields(integration.Disabled{}, "At")); diff != "" {
				t.Errorf("why the endpoint is disabled differs (-want +got):\n%s", diff)
			}
			if enabled := want == nil; i.Enabled != enabled {
				t.Errorf("enabled = %t, want %t", i.Enabled, enabled)
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
	attempt := delivery.Attempt{Number: 1, State: delivery.Failed, Status: status}
	if state == delivery.Delivered {
		attempt.State = delivery.Delivered
	}
	want := delivery.Delivery{Head: delivery.Head{State: state, Made: 1}, Attempts: []delivery.Attempt{attempt}}
	if state == delivery.Scheduled {
		want.Generation, want.NextAttemptAt = 1, d.NextAttemptAt
	}
	if status == http.StatusTooManyRequests {
		want.Told = 1
	}
	r.wantRecord(d, want)
	last, _ := d.Last()
	if got, want := last.Error != "", state != delivery.Delivered; got != want {
		t.Errorf("the attempt has an error: %t (%q), want %t", got, last.Error, want)
	}
	if d.State != delivery.Scheduled {
		return
	}
	most := least + max(2*time.Second, least/5)
	if wait := d.NextAttemptAt.Sub(r.Clock.Now()); wait < least || wait > most {
		t.Errorf("due after %v, want %v to %v", wait, least, most)
	}
	r.Clock.Set(*d.NextAttemptAt)
	job := delivery.Job{Company: "a", Delivery: d.EventID + "#webhook", Generation: 1}
	if got := message[delivery.Job](r, r.Retries); got != job {
		t.Errorf("message %+v, want %+v", got, job)
	}
}

// TestDispatcher_Separate checks that Separate writes each result in its own transaction, however many arrive at once.
func TestDispatcher_Separate(t *testing.T) {
	t.Parallel()
	r := setup(t, separate, hour)
	r.faulty.Before(func(ops []store.Op) error {
		if len(ops) > 1 {
			t.Errorf("%d records in one transaction, want 1", len(ops))
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
	r.wantSettled("a", states{delivery.Delivered: 12})
}

// TestDispatcher_Replay checks that a replay does not send deliveries that are recorded, or whose record cannot be read.
func TestDispatcher_Replay(t *testing.T) {
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
	got := receiver.All()
	if len(got) != sent+1 {
		t.Fatalf("a replay sent %d deliveries, want only the new one", len(got)-sent)
	}
	if got[sent].ID == got[0].ID {
		t.Errorf("a replay sent %s again, want the new delivery", got[0].ID)
	}
}

// brokenFeed fails to be consumed.
type brokenFeed struct{ why error }

func (f brokenFeed) Consume(context.Context, string, func(context.Context, store.Batch, func(error))) error {
	return f.why
}

// TestDispatcher_FeedFails checks that Run returns the error of a feed that ends.
func TestDispatcher_FeedFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), worktest.Patience)
	defer cancel()
	away := errors.New("away")
	if err := setup(t).dispatcher.Run(ctx, brokenFeed{away}); !errors.Is(err, away) {
		t.Errorf("error %v, want %v", err, away)
	}
	if ctx.Err() != nil {
		t.Errorf("Run returned after more than %v, want at once", worktest.Patience)
	}
}

// TestDispatcher_QueueFails checks that a batch whose message could not be queued is redelivered, without sending a
// delivery twice.
func TestDispatcher_QueueFails(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	receiver.Status(500)
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.retries.Fail <- errors.New("no queue")
	r.remember("a", 1)
	r.settled("a", 1)
	r.check(t, delivery.Scheduled, 500, 4*time.Second)
	r.wantReceived(receiver, 1)
}

// TestDispatcher_Redelivered checks that a change that is redelivered with a failed one sends neither its event nor its queue
// message again.
func TestDispatcher_Redelivered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	receiver := r.Receive()
	receiver.Status(500)
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.remember("a", 1)
	f := feedOf(store.Batch{Changes: r.Changes(2)})
	r.run(f)
	if err := <-f.finished; err != nil {
		t.Error(err)
	}
	r.stop()
	scheduled := store.Batch{Changes: r.Changes(1), Replay: true}
	f = feedOf(scheduled)
	r.run(f)
	if err := <-f.finished; err != nil {
		t.Error(err)
	}
	r.stop()
	f = feedOf(scheduled, scheduled)
	r.run(f)
	for range 2 {
		if err := <-f.finished; err != nil {
			t.Error(err)
		}
	}
	r.Clock.Advance(time.Hour)
	got, err := r.Retries.Receive(t.Context(), 10, time.Minute)
	errtest.Must(t, err)
	if len(got) != 1 {
		t.Errorf("%d messages of one delivery, want 1", len(got))
	}
	r.wantReceived(receiver, 1)
}

// TestDispatcher_BrokenEndpoint checks that secrets that cannot be decrypted delay their own endpoint and no other.
func TestDispatcher_BrokenEndpoint(t *testing.T) {
	t.Parallel()
	r := start(t)
	broken, well := r.Receive(), r.Receive()
	r.Subscribe("a", "webhook", broken, "memory.*")
	r.Put("a", integration.CredentialKey("webhook"), integration.CredentialEntity, map[string]any{"sealed": []byte("not sealed")})
	r.Subscribe("a", "webhook-well", well, "memory.*")
	r.remember("a", 1)
	well.Next()
	r.wantSettled("a", states{delivery.Scheduled: 1, delivery.Delivered: 1})
	r.wantReceived(broken, 0) // it would lack a signature
}

// TestDispatcher_DamagedEndpoint checks that an integration that cannot be decoded holds its own deliveries and no other's.
func TestDispatcher_DamagedEndpoint(t *testing.T) {
	t.Parallel()
	for name, damaged := range map[string]any{
		"a member":      map[string]any{"enabled": "yes", "permissions": []string{"event.deliver"}, "config": map[string]any{"events": []string{"memory.*"}}},
		"every member":  map[string]any{"enabled": 1, "permissions": 2, "config": 3},
		"other content": map[string]any{"provider": []int{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			well := r.Receive()
			r.Subscribe("a", "webhook-well", well, "memory.*")
			r.Put("a", integration.Key("webhook"), integration.Entity, damaged)
			r.remember("a", 1)
			well.Next()
			r.wantSettled("a", states{delivery.Held: 1, delivery.Delivered: 1})
			for _, d := range r.deliveries("a") {
				if want := map[string]string{"webhook": "configuration"}[d.Endpoint]; d.HeldBecause != want {
					t.Errorf("%s is held because of %q, want %q", d.Endpoint, d.HeldBecause, want)
				}
			}
		})
	}
}

// TestDispatcher_FirstAttempt checks that a first attempt times out after five seconds, because other deliveries wait.
func TestDispatcher_FirstAttempt(t *testing.T) {
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
	r.wantSettled("a", states{delivery.Scheduled: 1})
	if took := <-hung; took < 2*time.Second || took > 12*time.Second {
		t.Errorf("timed out after %v, want 5 s", took)
	}
}

// The first attempt may take 5 seconds, and an endpoint whose name does not resolve is tried again.
func TestDispatcher_Unresolved(t *testing.T) {
	t.Parallel()
	r := setup(t)
	network, client := worktest.NewUnresolved()
	r.dispatcher.Courier.Client = client
	r.Register(worktest.Endpoint{
		Company: "a", Provider: "webhook", URL: "https://example.test/", Secrets: []string{r.Secret()}, Events: []string{"memory.*"},
	})
	r.run(r.Store)
	r.remember("a", 1)
	r.settled("a", 1)
	if got := <-network.Budgets; got > 5*time.Second {
		t.Errorf("the attempt may take %v, want at most 5 s", got)
	}
	r.check(t, delivery.Scheduled, 0, 4*time.Second)
}

// TestDispatcher_Kept keeps the log of a delivery for 30 days from its event, whether its first attempt worked or not.
func TestDispatcher_Kept(t *testing.T) {
	t.Parallel()
	r := start(t)
	good, bad := r.Receive(), r.Receive()
	bad.Status(http.StatusInternalServerError)
	r.Subscribe("a", "webhook", good, "memory.*")
	r.Subscribe("a", "webhook-bad", bad, "memory.*")
	r.remember("a", 1)
	r.wantSettled("a", states{delivery.Delivered: 1, delivery.Scheduled: 1})
	for _, d := range r.deliveries("a") {
		item, err := r.Company("a").Get(t.Context(), delivery.Key(d.EventID, d.Endpoint), nil)
		errtest.Must(t, err)
		if want := d.CreatedAt.Add(30 * 24 * time.Hour).Truncate(time.Second); !item.Expires.Truncate(time.Second).Equal(want) {
			t.Errorf("%s: kept until %v, want %v", d.Endpoint, item.Expires, want)
		}
	}
}
