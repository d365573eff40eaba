package courier_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/standardwebhooks"
)

// counted wraps a store, counts its queries and calls a test's function after each.
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
	*worktest.Harness
	*courier.Courier
	counted  *counted
	receiver *worktest.Receiver
}

func setup(t *testing.T, fresh time.Duration) *running {
	t.Helper()
	b := worktest.New(t)
	r := &running{Harness: b, counted: &counted{Store: b.Store}, receiver: b.Receive()}
	r.Courier = courier.New(courier.Deps{
		Store: r.counted, Vault: b.Vault, Client: b.Client, Engine: b.Engine, Logger: b.Logger, Now: b.Clock.Now, Fresh: fresh,
	})
	b.Subscribe("a", "webhook", r.receiver, "memory.*")
	return r
}

func (r *running) endpoints(n int) []*courier.Endpoint {
	r.T.Helper()
	all, err := r.Endpoints(r.T.Context(), "a")
	errtest.Must(r.T, err)
	if len(all) != n {
		r.T.Fatalf("%d endpoints, want %d", len(all), n)
	}
	return all
}

func (r *running) delivery() delivery.Delivery {
	return delivery.Delivery{
		Head: delivery.Head{
			EventID: "e1", Endpoint: "webhook", Event: "memory.created", CreatedAt: r.Clock.Now(),
		},
		Payload: json.RawMessage(`{"id":"e1"}`),
	}
}

// TestCourier_Endpoints checks that endpoints are loaded only if the cache holds no fresh ones.
func TestCourier_Endpoints(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.Put("a", integration.Key("feed"), integration.Entity, integration.Integration{Provider: "feed", Permissions: []integration.Port{integration.SyncPull}})
	r.endpoints(1)
	r.endpoints(1)
	r.wantLoads(1)
	r.Forget("b")
	r.endpoints(1)
	r.Forget("a")
	r.endpoints(1)
	r.wantLoads(2)
	r.Clock.Advance(time.Minute + time.Second)
	r.endpoints(1)
	r.wantLoads(3)
	uncached := setup(t, 0)
	uncached.endpoints(1)
	again := uncached.endpoints(1)
	uncached.wantLoads(2)
	if renewed := uncached.renew(again[0]); renewed != again[0] {
		t.Errorf("without a cache: renewed to %p, want the same endpoint, %p", renewed, again[0])
	}
}

// wantLoads checks how often the endpoints were loaded.
func (r *running) wantLoads(want int) {
	r.T.Helper()
	if got := r.counted.queries; got != want {
		r.T.Errorf("%d loads, want %d", got, want)
	}
}

// TestCourier_Endpoints_Asked checks that a courier without a cache skips endpoints that subscribe to none of the events.
func TestCourier_Endpoints_Asked(t *testing.T) {
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
		{time.Minute, []string{"goal.updated"}, 1}, // the cache serves the next event too
	} {
		r := setup(t, tt.fresh)
		all, err := r.Endpoints(t.Context(), "a", tt.names...)
		errtest.Must(t, err)
		if len(all) != tt.want {
			t.Errorf("fresh for %v, %q: %d endpoints, want %d", tt.fresh, tt.names, len(all), tt.want)
		}
	}
}

// TestCourier_Endpoints_Overtaken checks that a load that began before a change and ended after it is not cached.
func TestCourier_Endpoints_Overtaken(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.counted.after = func() {
		r.counted.after = nil
		r.Change("a", "webhook", func(i *integration.Integration) { i.Enabled = false })
		r.Forget("a")
	}
	old := r.endpoints(1)[0]
	if _, held := old.IsHeld(r.Clock.Now()); held {
		t.Fatal("the endpoint was loaded after the change, want before")
	}
	for _, now := range []*courier.Endpoint{r.endpoints(1)[0], r.renew(old)} {
		r.wantHeld(now, "disabled")
	}
}

// wantHeld checks that an endpoint is held for a reason.
func (r *running) wantHeld(e *courier.Endpoint, want string) {
	r.T.Helper()
	because, held := e.IsHeld(r.Clock.Now())
	if !held {
		r.T.Errorf("the endpoint is not held, want it held because of %q", want)
	}
	if because != want {
		r.T.Errorf("held because of %q, want %q", because, want)
	}
}

func (r *running) renew(e *courier.Endpoint) *courier.Endpoint {
	r.T.Helper()
	now, err := r.Renew(r.T.Context(), e)
	errtest.Must(r.T, err)
	return now
}

func TestCourier_Renew(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	e := r.endpoints(1)[0]
	if r.renew(e) != e {
		t.Error("without a change: renewed to another endpoint, want the same")
	}
	r.wantLoads(1)
	r.Clock.Advance(2 * time.Minute)
	if now := r.endpoints(1)[0]; r.renew(e) != now { // its secrets may have expired
		t.Error("after a reload: renewed to the old endpoint, want the new one")
	}
	c := r.Company("a")
	errtest.Must(t, c.Commit(t.Context(), c.Delete(integration.Key("webhook"), integration.Entity, 1)))
	r.Forget("a")
	r.wantHeld(r.renew(e), "deleted")
}

// deliver calls Deliver with the timeout of a first attempt.
func (r *running) deliver(ctx context.Context, e *courier.Endpoint, d *delivery.Delivery) courier.Result {
	r.T.Helper()
	result, err := r.Deliver(ctx, e, d, courier.FirstTimeout)
	errtest.Must(r.T, err)
	return result
}

func TestCourier_Deliver(t *testing.T) {
	t.Parallel()
	sandboxed := func(r *running) {
		r.Change("a", "webhook", func(i *integration.Integration) { *i = i.Sandboxed(integration.SandboxedByChange, r.Clock.Now()) })
	}
	tests := []struct {
		name  string
		given func(*running, *delivery.Delivery)
		want  courier.Result
		state delivery.State // "": unchanged, the caller schedules it
		sent  int
	}{
		{"accepted", nil, courier.Result{State: courier.Done, Attempted: true}, delivery.Delivered, 1},
		{"refused for good", func(r *running, _ *delivery.Delivery) { r.receiver.Status(410) }, courier.Result{State: courier.Done, Attempted: true}, delivery.Failed, 1},
		{"the last attempt failed", func(r *running, d *delivery.Delivery) {
			r.receiver.Status(500)
			d.Made = courier.Attempts - 1
		}, courier.Result{State: courier.Done, Attempted: true}, delivery.Dead, 1},
		{"failed", func(r *running, _ *delivery.Delivery) { r.receiver.Status(500) }, courier.Result{State: courier.Deferred, Attempted: true}, "", 1},
		{"sandboxed", func(r *running, _ *delivery.Delivery) { sandboxed(r) }, courier.Result{State: courier.Held, Because: "sandbox"}, delivery.Held, 0},
		{"deleted", func(r *running, _ *delivery.Delivery) {
			c := r.Company("a")
			errtest.Must(r.T, c.Commit(r.T.Context(), c.Delete(integration.Key("webhook"), integration.Entity, 1)))
		}, courier.Result{State: courier.Held, Because: "deleted"}, delivery.Held, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, time.Minute)
			d := r.delivery()
			if tt.given != nil {
				tt.given(r, &d)
			}
			e, err := r.Endpoint(t.Context(), r.Company("a"), "webhook")
			errtest.Must(t, err)
			got := r.deliver(t.Context(), e, &d)
			if later, want := got.Until.After(r.Clock.Now()), tt.want.State == courier.Deferred; later != want {
				t.Errorf("until %v, want a time after now, %v: %t", got.Until, r.Clock.Now(), want)
			}
			got.Until = time.Time{}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			type facts struct {
				State              delivery.State
				HeldBecause        string
				Attempts, Requests int
			}
			want := facts{tt.state, tt.want.Because, tt.sent, tt.sent}
			if got := (facts{d.State, d.HeldBecause, len(d.Attempts), len(r.receiver.All())}); got != want {
				t.Errorf("delivery = %+v, want %+v", got, want)
			}
		})
	}
}

// TestCourier_Deliver_Aborted checks that an attempt that the sender aborts is not logged, and that the delivery is due at once.
func TestCourier_Deliver_Aborted(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.receiver.Gate()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		r.receiver.Next()
		cancel()
	}()
	d := r.delivery()
	got := r.deliver(ctx, r.endpoints(1)[0], &d)
	if diff := cmp.Diff(courier.Result{State: courier.Deferred, Until: r.Clock.Now()}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.delivery(), d); diff != "" {
		t.Errorf("the delivery has changed (-want +got):\n%s", diff)
	}
}

// TestCourier_Deliver_Rotation checks that the old and the new secret both sign until the old one retires.
func TestCourier_Deliver_Rotation(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	c := r.Company("a")
	retires := r.Clock.Now().Add(integration.RotationGrace)
	secrets := integration.Secrets{Signing: []integration.SigningSecret{
		{Value: r.receiver.Secrets[0]}, {Value: r.receiver.Secrets[1], RetiresAt: &retires},
	}}
	op, err := integration.SaveSecrets(t.Context(), c, r.Vault, "webhook", 1, secrets)
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), op))
	r.Clock.Set(retires.Add(-time.Second))
	d := r.delivery()
	r.deliver(t.Context(), r.endpoints(1)[0], &d)
	if d.State != delivery.Delivered { // the receiver verifies both
		t.Errorf("state = %s, want %s: %+v", d.State, delivery.Delivered, d)
	}
	r.Clock.Set(retires.Add(time.Minute))
	r.receiver.Secrets = r.receiver.Secrets[:1]
	retired := secrets.Signing[1].Value
	d = r.delivery()
	r.deliver(t.Context(), r.endpoints(1)[0], &d)
	got := r.receiver.All()[1]
	if _, err := standardwebhooks.Verify([]string{retired}, got.Header, got.Body, r.Clock.Now()); err == nil {
		t.Error("a retired secret still signs")
	}
}

func TestCourier_Sample(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	c := r.Company("a")
	r.Change("a", "webhook", func(i *integration.Integration) { *i = i.Sandboxed(integration.SandboxedByChange, r.Clock.Now()) })
	e, err := r.Endpoint(t.Context(), c, "webhook")
	errtest.Must(t, err)
	type facts struct {
		State  delivery.State
		Status int
		Failed bool // the attempt has an error
	}
	sample := func(e *courier.Endpoint, want facts) {
		t.Helper()
		a := r.Sample(t.Context(), e, r.delivery())
		if got := (facts{a.State, a.Status, a.Error != ""}); got != want {
			t.Errorf("attempt = %+v, want %+v: %s", got, want, a.Error)
		}
	}
	sample(e, facts{delivery.Delivered, 204, false})
	if n := len(r.receiver.All()); n != 1 {
		t.Errorf("%d requests to the sandbox, want 1", n)
	}
	r.receiver.Status(500)
	sample(e, facts{delivery.Failed, 500, true})
	r.Register(worktest.Endpoint{Company: "a", Provider: "webhook-odd", URL: "none"})
	odd, err := r.Endpoint(t.Context(), c, "webhook-odd")
	errtest.Must(t, err)
	sample(odd, facts{delivery.Failed, 0, true})
	if n := len(worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix)); n != 0 {
		t.Errorf("%d samples in the log, want 0", n)
	}
}

// TestCourier_DisableFailing checks that an endpoint that was changed meanwhile is not disabled.
func TestCourier_DisableFailing(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	e := r.endpoints(1)[0]
	since := r.Clock.Now()
	r.Clock.Advance(courier.FailingLimit)
	r.Change("a", "webhook", func(i *integration.Integration) { i.UpdatedAt = r.Clock.Now() })
	r.DisableFailing(t.Context(), e, since)
	var i integration.Integration
	if r.Get("a", integration.Key("webhook"), &i); !i.Enabled {
		t.Error("the endpoint is disabled although its configuration has changed")
	}
	r.DisableFailing(t.Context(), r.renew(e), since)
	if r.Get("a", integration.Key("webhook"), &i); i.Enabled {
		t.Error("the endpoint is enabled, want it disabled")
	}
}

// TestEndpoint_WaitUntil checks that deliveries over the rate limit get distinct times, at most half a minute ahead. A sender that
// has its deliveries in hand gets the next token's time for each.
func TestEndpoint_WaitUntil(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.Register(worktest.Endpoint{
		Company: "a", Provider: "webhook-slow", URL: r.receiver.URL, Secrets: r.receiver.Secrets, Events: []string{"memory.*"}, RateLimit: 1,
	})
	e := r.endpoints(2)[1]
	now := r.Clock.Now()
	if until, wait := e.WaitUntil(now, 0); wait {
		t.Fatalf("the first waits until %v, want no wait", until)
	}
	for n := range 100 {
		until, wait := e.WaitUntil(now, 0)
		if !wait {
			t.Fatalf("delivery %d does not wait", n)
		}
		if got, want := until.Sub(now), time.Duration(n%29+1)*time.Second; got != want {
			t.Fatalf("delivery %d waits %v, want %v", n, got, want)
		}
	}
	for range 3 {
		until, wait := e.WaitUntil(now, 1)
		if got, want := until.Sub(now), time.Second; got != want {
			t.Errorf("a delivery in hand waits %v, want %v", got, want)
		}
		if !wait {
			t.Error("a delivery in hand has a token, want none")
		}
	}
	if _, wait := e.WaitUntil(now.Add(time.Second), 0); wait {
		t.Error("the next second has no token")
	}
}
