package courier_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"orgops/shared/courier"
	"orgops/shared/delivery"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/webhook"
	"orgops/shared/worktest"
)

// counted is a store that counts queries, and lets a test do something before one is answered.
type counted struct {
	store.Store
	mu      sync.Mutex
	queries int
	after   func()
}

func (c *counted) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	page, err := c.Store.Query(ctx, p, q)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries++
	if c.after != nil {
		c.after()
	}
	return page, err
}

type running struct {
	*worktest.Bench
	*courier.Courier
	counted  *counted
	receiver *worktest.Receiver
}

func setup(t *testing.T, fresh time.Duration) *running {
	t.Helper()
	b := worktest.New(t)
	r := &running{Bench: b, counted: &counted{Store: b.Store}, receiver: b.Receive()}
	r.Courier = courier.New(courier.Deps{
		Store: r.counted, Vault: b.Vault, Client: b.Client, Logger: b.Logger, Now: b.Clock.Now, Fresh: fresh,
	})
	b.Subscribe("a", "webhook", r.receiver, "memory.*")
	return r
}

func (r *running) endpoints(n int) []*courier.Endpoint {
	r.T.Helper()
	all, err := r.Endpoints(r.T.Context(), "a")
	worktest.Must(r.T, err)
	if len(all) != n {
		r.T.Fatalf("%d endpoints, want %d", len(all), n)
	}
	return all
}

func (r *running) delivery() delivery.Delivery {
	return delivery.Delivery{
		EventID: "e1", Endpoint: "webhook", Event: "memory.created", Payload: json.RawMessage(`{"id":"e1"}`), CreatedAt: r.Clock.Now(),
	}
}

// TestEndpoints are loaded when nothing fresh is remembered, and not before.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.Put("a", integration.Key("feed"), integration.Entity, integration.Integration{Provider: "feed", Permissions: []integration.Port{integration.SyncPull}})
	r.endpoints(1)
	r.endpoints(1)
	if r.counted.queries != 1 {
		t.Errorf("%d loads, want 1", r.counted.queries)
	}
	r.Forget("b")
	r.endpoints(1)
	r.Forget("a")
	r.endpoints(1)
	if r.counted.queries != 2 {
		t.Errorf("%d loads after Forget, want 2", r.counted.queries)
	}
	r.Clock.Advance(time.Minute + time.Second)
	r.endpoints(1)
	if r.counted.queries != 3 {
		t.Errorf("%d loads after a minute, want 3", r.counted.queries)
	}
	blind := setup(t, 0)
	blind.endpoints(1)
	if again := blind.endpoints(1); blind.counted.queries != 2 {
		t.Errorf("%d loads by one that hears of no change", blind.counted.queries)
	} else if same, err := blind.Renew(t.Context(), again[0]); err != nil || same != again[0] {
		t.Errorf("renewed to %p, %v", same, err)
	}
}

// TestEndpoints_Asked: who remembers nothing does not open the secrets of an endpoint that asked for none of the events.
func TestEndpoints_Asked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fresh time.Duration
		names []string
		want  int
	}{
		{0, []string{"memory.updated"}, 1},
		{0, []string{"goal.updated", "memory.created"}, 1},
		{0, []string{"goal.updated"}, 0},
		{0, nil, 1},
		{time.Minute, []string{"goal.updated"}, 1}, // the next event may be one that it asked for
	} {
		r := setup(t, tt.fresh)
		all, err := r.Endpoints(t.Context(), "a", tt.names...)
		if err != nil || len(all) != tt.want {
			t.Errorf("remembering for %v, %q: %d endpoints, %v", tt.fresh, tt.names, len(all), err)
		}
	}
}

// TestEndpoints_Overtaken: what was loaded before a change and is done loading after it is not remembered.
func TestEndpoints_Overtaken(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.counted.after = func() {
		r.counted.after = nil
		r.Change("a", "webhook", func(i *integration.Integration) { i.Enabled = false })
		r.Forget("a")
	}
	old := r.endpoints(1)[0]
	if _, held := old.Held(r.Clock.Now()); held {
		t.Fatal("the test does not test anything")
	}
	for _, now := range []*courier.Endpoint{r.endpoints(1)[0], r.renew(old)} {
		if because, held := now.Held(r.Clock.Now()); !held || because != "disabled" {
			t.Errorf("held %t because of %s", held, because)
		}
	}
}

func (r *running) renew(e *courier.Endpoint) *courier.Endpoint {
	r.T.Helper()
	now, err := r.Renew(r.T.Context(), e)
	worktest.Must(r.T, err)
	return now
}

func TestRenew(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	e := r.endpoints(1)[0]
	if r.renew(e) != e || r.counted.queries != 1 {
		t.Error("renewed without a change")
	}
	r.Clock.Advance(2 * time.Minute)
	if now := r.endpoints(1)[0]; r.renew(e) != now { // its secrets may have retired
		t.Error("not renewed although another has been loaded")
	}
	c := r.Company("a")
	worktest.Must(t, c.Commit(t.Context(), c.Delete(integration.Key("webhook"), integration.Entity, 1)))
	r.Forget("a")
	if _, err := r.Renew(t.Context(), e); fault.KindOf(err) != fault.NotFound {
		t.Errorf("err = %v, want not found", err)
	}
}

// TestAttempt_Aborted: an attempt that the sender cut off is none, and is due at once.
func TestAttempt_Aborted(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.receiver.Gate()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		r.receiver.Next()
		cancel()
	}()
	d := r.delivery()
	if r.Attempt(ctx, r.endpoints(1)[0], &d, webhook.FirstTimeout) {
		t.Error("it was taken")
	}
	if d.State != delivery.Scheduled || !d.NextAttemptAt.Equal(r.Clock.Now()) || d.Made != 0 || len(d.Attempts) != 0 || d.Requests != 1 {
		t.Errorf("the delivery is %+v", d)
	}
}

// TestAttempt_Rotation: secrets sign side by side until the old one retires.
func TestAttempt_Rotation(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	c := r.Company("a")
	retires := r.Clock.Now().Add(integration.RotationGrace)
	secrets := integration.Secrets{Signing: []integration.SigningSecret{
		{Value: r.receiver.Secrets[0]}, {Value: r.receiver.Secrets[1], RetiresAt: &retires},
	}}
	op, err := integration.SaveSecrets(t.Context(), c, r.Vault, "webhook", 1, secrets)
	worktest.Must(t, err)
	worktest.Must(t, c.Commit(t.Context(), op))
	r.Clock.Set(retires.Add(-time.Second))
	d := r.delivery()
	if !r.Attempt(t.Context(), r.endpoints(1)[0], &d, webhook.FirstTimeout) { // the receiver verifies both
		t.Errorf("%+v", d)
	}
	r.Clock.Set(retires.Add(time.Minute))
	r.receiver.Secrets = r.receiver.Secrets[:1]
	retired := secrets.Signing[1].Value
	d = r.delivery()
	r.Attempt(t.Context(), r.endpoints(1)[0], &d, webhook.FirstTimeout)
	got := r.receiver.All()[1]
	if _, err := webhook.Verify([]string{retired}, got.Header, got.Body, r.Clock.Now()); err == nil {
		t.Error("a retired secret still signs")
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	c := r.Company("a")
	r.Change("a", "webhook", func(i *integration.Integration) { *i = i.Sandboxed(integration.SandboxedByChange, r.Clock.Now()) })
	e, err := r.Endpoint(t.Context(), c, "webhook")
	worktest.Must(t, err)
	if a := r.Sample(t.Context(), e, r.delivery()); a.State != delivery.Delivered || a.Status != 204 || len(r.receiver.All()) != 1 {
		t.Errorf("to the sandbox: %+v", a)
	}
	r.receiver.Status(500)
	if a := r.Sample(t.Context(), e, r.delivery()); a.State != delivery.Failed || a.Status != 500 || a.Error == "" {
		t.Errorf("refused: %+v", a)
	}
	r.Register(worktest.Endpoint{Company: "a", Provider: "webhook-odd", URL: "none"})
	odd, err := r.Endpoint(t.Context(), c, "webhook-odd")
	worktest.Must(t, err)
	if a := r.Sample(t.Context(), odd, r.delivery()); a.State != delivery.Failed || a.Error == "" {
		t.Errorf("without a usable url: %+v", a)
	}
	if n := len(worktest.All[delivery.Delivery](r.Bench, "a", delivery.Prefix)); n != 0 {
		t.Errorf("%d samples are in the log", n)
	}
}

// TestDisableFailing leaves alone what somebody changed meanwhile.
func TestDisableFailing(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	e := r.endpoints(1)[0]
	since := r.Clock.Now()
	r.Clock.Advance(courier.FailingLimit)
	r.Change("a", "webhook", func(i *integration.Integration) { i.UpdatedAt = r.Clock.Now() })
	r.DisableFailing(t.Context(), e, since)
	var i integration.Integration
	if r.Get("a", integration.Key("webhook"), &i); !i.Enabled {
		t.Error("disabled although it was configured anew")
	}
	r.DisableFailing(t.Context(), r.renew(e), since)
	if r.Get("a", integration.Key("webhook"), &i); i.Enabled {
		t.Error("not disabled")
	}
}

// TestWait: those that a rate has no room for are given turns, half a minute ahead at most.
func TestWait(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.Register(worktest.Endpoint{
		Company: "a", Provider: "webhook-slow", URL: r.receiver.URL, Secrets: r.receiver.Secrets, Events: []string{"memory.*"}, RateLimit: 1,
	})
	e := r.endpoints(2)[1]
	now := r.Clock.Now()
	if until, wait := e.Wait(now); wait {
		t.Fatalf("the first waits until %v", until)
	}
	for n := range 100 {
		until, wait := e.Wait(now)
		if want := time.Duration(n%29+1) * time.Second; !wait || until.Sub(now) != want {
			t.Fatalf("turn %d is after %v, want %v", n, until.Sub(now), want)
		}
	}
	if _, wait := e.Wait(now.Add(time.Second)); wait {
		t.Error("the next second has no room")
	}
}
