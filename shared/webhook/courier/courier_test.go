package courier_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/standardwebhooks"
)

// counted wraps a store, counts its queries for integrations and calls a test's function after each query.
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
	if q.Prefix == integration.Prefix {
		c.queries++
	}
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

func setup(t *testing.T, fresh time.Duration, edit ...func(*courier.Deps)) *running {
	t.Helper()
	b := worktest.New(t)
	r := &running{Harness: b, counted: &counted{Store: b.Store}, receiver: b.Receive()}
	r.Courier = b.Courier(append(edit, func(d *courier.Deps) { d.Store, d.Fresh = r.counted, fresh })...)
	b.Subscribe("a", "webhook", r.receiver, "memory.*")
	return r
}

func (r *running) endpoints(n int) []*endpoint.Endpoint {
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

// TestCourier_Endpoints_Replaced replaces an endpoint between the read of its configuration and that of its secrets. What the former one
// would get is not signed with the secret of the other.
func TestCourier_Endpoints_Replaced(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		r := setup(t, time.Minute, func(d *courier.Deps) { d.Shared = shared })
		other := r.Receive()
		r.counted.after = func() {
			r.counted.after = nil
			r.Replace(worktest.Endpoint{
				Company: "a", Provider: "webhook", URL: other.URL, Secrets: other.Secrets, Events: []string{"memory.*"}, Incarnation: id.New(),
			})
		}
		former := r.endpoints(1)[0]
		if because, held := former.Held("", r.Clock.Now()); !held {
			t.Error("the former endpoint gets deliveries, want that they are held")
		} else if because != delivery.HeldDeleted {
			t.Errorf("held because of %q, want %q", because, delivery.HeldDeleted)
		}
		r.Forget("a")
		latter := r.endpoints(1)[0]
		if because, held := latter.Held(latter.Incarnation, r.Clock.Now()); held {
			t.Errorf("the deliveries of the other endpoint are held because of %q, want that it gets them", because)
		}
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
	if _, held := old.Held("", r.Clock.Now()); held {
		t.Fatal("the endpoint was loaded after the change, want before")
	}
	for _, now := range []*endpoint.Endpoint{r.endpoints(1)[0], r.renew(old)} {
		r.wantHeld(now, "disabled")
	}
}

// wantHeld checks that an endpoint is held for a reason.
func (r *running) wantHeld(e *endpoint.Endpoint, want string) {
	r.T.Helper()
	because, held := e.Held(e.Incarnation, r.Clock.Now())
	if !held {
		r.T.Errorf("the endpoint is not held, want it held because of %q", want)
	}
	if because != want {
		r.T.Errorf("held because of %q, want %q", because, want)
	}
}

func (r *running) renew(e *endpoint.Endpoint) *endpoint.Endpoint {
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

// TestCourier_Renew_Unpermitted checks that deliveries to an endpoint without the permission to receive events are held for a recovery. They
// were held as those of a deleted one, which none sends.
func TestCourier_Renew_Unpermitted(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	e := r.endpoints(1)[0]
	r.Change("a", "webhook", func(i *integration.Integration) { i.Permissions = nil })
	r.Forget("a")
	r.wantHeld(r.renew(e), "sandbox")
}

// attempt starts a task of a Backlog without a record, and waits for its end. made is false if it was refused.
func attempt(ctx context.Context, c *courier.Courier, t *courier.Task) (o courier.Outcome, made bool) {
	done := make(chan courier.Outcome, 1)
	t.Source, t.Done = courier.Backlog, func(o courier.Outcome) { done <- o }
	t.Key = delivery.Key(t.Delivery.EventID, t.Delivery.Endpoint)
	o, began := c.Start(ctx, t)
	if began {
		o = <-done
	}
	return o, began && o == courier.Outcome{}
}

// deliver makes an attempt, and returns the delivery after it.
func (r *running) deliver(e *endpoint.Endpoint, d delivery.Delivery) delivery.Delivery {
	r.T.Helper()
	t := &courier.Task{Company: r.Company("a"), Endpoint: e, Delivery: d}
	if o, made := attempt(r.T.Context(), r.Courier, t); !made {
		r.T.Errorf("outcome %+v, want an attempt", o)
	}
	return t.Delivery
}

func TestCourier_Start(t *testing.T) {
	t.Parallel()
	sandboxed := func(r *running) {
		r.Change("a", "webhook", func(i *integration.Integration) { *i = i.Sandboxed(integration.SandboxedByChange, r.Clock.Now()) })
	}
	tests := []struct {
		name    string
		given   func(*running)
		state   delivery.State
		because string
		sent    int
	}{
		{"accepted", func(*running) {}, delivery.Delivered, "", 1},
		{"refused for good", func(r *running) { r.receiver.Status(410) }, delivery.Failed, "", 1},
		{"failed", func(r *running) { r.receiver.Status(500) }, delivery.Scheduled, "", 1},
		{"sandboxed", sandboxed, delivery.Held, "sandbox", 0},
		{"deleted", func(r *running) {
			c := r.Company("a")
			errtest.Must(r.T, c.Commit(r.T.Context(), c.Delete(integration.Key("webhook"), integration.Entity, 1)))
		}, delivery.Held, "deleted", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, time.Minute)
			tt.given(r)
			d := r.deliver(nil, r.delivery())
			type facts struct {
				State              delivery.State
				HeldBecause        string
				Attempts, Requests int
			}
			want := facts{tt.state, tt.because, tt.sent, tt.sent}
			if got := (facts{d.State, d.HeldBecause, len(d.Attempts), len(r.receiver.All())}); got != want {
				t.Errorf("delivery = %+v, want %+v", got, want)
			}
			if later := d.NextAttemptAt != nil && d.NextAttemptAt.After(r.Clock.Now()); later != (tt.state == delivery.Scheduled) {
				t.Errorf("the next attempt is due at %v, now it is %v", d.NextAttemptAt, r.Clock.Now())
			}
		})
	}
}

// TestCourier_Run_Unrecorded records the attempt that an earlier task of the delivery has made, makes none, and holds no slot then.
func TestCourier_Run_Unrecorded(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	d := r.delivery()
	d.Enqueue(r.Clock.Now())
	key := delivery.Key(d.EventID, d.Endpoint)
	r.Put("a", key, delivery.Entity, d)
	faulty := &worktest.Store{Store: r.Store}
	ending, end := context.WithCancel(t.Context()) // so that the write is not tried again
	end()
	run := func() courier.Outcome {
		return r.Run(ending, &courier.Task{Source: courier.Queue, Company: store.For(faulty, "a"), Key: key, Generation: d.Generation})
	}
	faulty.Before(func([]store.Op) error { return store.ErrUnavailable })
	if o := run(); !errors.Is(o.Err, store.ErrUnavailable) {
		t.Errorf("outcome %+v, want %v", o, store.ErrUnavailable)
	}
	faulty.Before(nil)
	if o := run(); o != (courier.Outcome{}) {
		t.Errorf("outcome %+v after the store is back, want none", o)
	}
	if r.Get("a", key, &d); d.State != delivery.Delivered {
		t.Errorf("state = %s, want %s", d.State, delivery.Delivered)
	}
	if n := len(r.receiver.All()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if n := r.InFlight(); n != 0 {
		t.Errorf("%d slots are taken at the end, want none", n)
	}
}

// TestCourier_Start_Rotation checks that the old and the new secret both sign until the old one retires.
func TestCourier_Start_Rotation(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	c := r.Company("a")
	retires := r.Clock.Now().Add(integration.RotationGrace)
	secrets := integration.Secrets{Signing: []integration.SigningSecret{
		{Value: r.receiver.Secrets[0]}, {Value: r.receiver.Secrets[1], RetiresAt: &retires},
	}}
	op, err := integration.SaveSecrets(t.Context(), c, r.Vault, integration.Integration{Provider: "webhook"}, 1, secrets)
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), op))
	r.Clock.Set(retires.Add(-time.Second))
	d := r.deliver(r.endpoints(1)[0], r.delivery())
	if d.State != delivery.Delivered { // the receiver verifies both
		t.Errorf("state = %s, want %s: %+v", d.State, delivery.Delivered, d)
	}
	r.Clock.Set(retires.Add(time.Minute))
	r.receiver.Secrets = r.receiver.Secrets[:1]
	retired := secrets.Signing[1].Value
	r.deliver(r.endpoints(1)[0], r.delivery())
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
	type facts struct {
		State  delivery.State
		Status int
		Failed bool // the attempt has an error
	}
	sample := func(provider string, want facts) {
		t.Helper()
		d := r.delivery()
		d.Endpoint = provider
		a, err := r.Sample(t.Context(), c, d)
		errtest.Must(t, err)
		if got := (facts{a.State, a.Status, a.Error != ""}); got != want {
			t.Errorf("attempt = %+v, want %+v: %s", got, want, a.Error)
		}
	}
	sample("webhook", facts{delivery.Delivered, 204, false})
	if n := len(r.receiver.All()); n != 1 {
		t.Errorf("%d requests to the sandbox, want 1", n)
	}
	r.receiver.Status(500)
	sample("webhook", facts{delivery.Failed, 500, true})
	r.Register(worktest.Endpoint{Company: "a", Provider: "webhook-odd", URL: "none"})
	sample("webhook-odd", facts{delivery.Failed, 0, true})
	if n := len(worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix)); n != 0 {
		t.Errorf("%d samples in the log, want 0", n)
	}
}

// TestCourier_Failing checks that an endpoint that was changed meanwhile is not disabled.
func TestCourier_Failing(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	r.receiver.Status(500)
	e := r.endpoints(1)[0]
	since := r.Clock.Now()
	r.Clock.Advance(courier.FailingLimit)
	change := true
	fail := func() (i integration.Integration) {
		attempt(t.Context(), r.Courier, &courier.Task{
			Company: r.Company("a"), Endpoint: e, Delivery: r.delivery(), Failing: func(context.Context, *endpoint.Endpoint) time.Time {
				if change {
					r.Change("a", "webhook", func(i *integration.Integration) { i.UpdatedAt = r.Clock.Now() })
				}
				return since
			},
		})
		r.Get("a", integration.Key("webhook"), &i)
		return i
	}
	if i := fail(); !i.Enabled {
		t.Error("the endpoint is disabled although its configuration has changed")
	}
	change = false
	r.Clock.Advance(time.Minute) // until it is looked at again
	if i := fail(); i.Enabled {
		t.Error("the endpoint is enabled, want it disabled")
	}
}

func TestCourier_Spill(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64]time.Duration{0: time.Second, 0.5: 2 * time.Second, 0.75: 2500 * time.Millisecond} {
		c := courier.New(courier.Deps{Random: func() float64 { return random }})
		if got := c.Spill(); got != want {
			t.Errorf("with %g: a delay of %v, want %v", random, got, want)
		}
	}
	got := courier.New(courier.Deps{}).Spill()
	if off := (got - 2*time.Second).Abs(); off > time.Second {
		t.Errorf("without Random: a delay of %v, want 1 s to 3 s", got)
	}
}
