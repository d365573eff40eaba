package dispatcher_test

import (
	"encoding/json"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// TestDispatcher_Held_Meanwhile sends a delivery that a worker has held after the endpoint was enabled: the tenant's recovery may
// have passed it. A delivery that was held before is left to the recovery, also if its change comes late.
func TestDispatcher_Held_Meanwhile(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Subscribe("a", "webhook", r.Receive(), "memory.*")
	hold := func(because string) (key string) {
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(r.Clock.Now(), because), Endpoint: "webhook", CreatedAt: r.Clock.Now(), Made: 3}, Payload: json.RawMessage(`{}`)}
		d.Hold(because)
		r.Put("a", delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)
		return delivery.Key(d.EventID, d.Endpoint)
	}
	before := hold("disabled")
	r.Clock.Advance(5 * time.Minute)
	r.Change("a", "webhook", func(i *integration.Integration) { i.UpdatedAt = r.Clock.Now() })
	full := hold(delivery.HeldLine)
	after := hold("sandbox")
	r.run(r.Store)
	state := func(key string) (d delivery.Delivery) {
		r.Get("a", key, &d)
		return d
	}
	worktest.Until(t, "the delivery is sent", func() bool { return state(after).State == delivery.Scheduled })
	if got := message[delivery.Job](r, r.Retries); delivery.Prefix+got.Delivery != after {
		t.Errorf("a message for %s, want one for %s", got.Delivery, after)
	}
	due := r.Clock.Now()
	r.wantRecord(state(after), delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Generation: 1, NextAttemptAt: &due}})
	for _, key := range []string{before, full} {
		if got := state(key).State; got != delivery.Held {
			t.Errorf("%s is %s, want held", key, got)
		}
	}
}

// TestDispatcher_Held_SlowWrite counts the time at which the backend stored the held delivery: its write may have begun before the
// endpoint was enabled.
func TestDispatcher_Held_SlowWrite(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Subscribe("a", "webhook", r.Receive(), "memory.*")
	begun := r.Clock.Now()
	r.Clock.Advance(time.Second)
	r.Change("a", "webhook", func(i *integration.Integration) { i.UpdatedAt = r.Clock.Now() })
	d := delivery.Delivery{Head: delivery.Head{EventID: id.New(), Endpoint: "webhook", CreatedAt: begun}, Payload: json.RawMessage(`{}`)}
	d.Hold("disabled")
	key := delivery.Key(d.EventID, d.Endpoint)
	r.Put("a", key, delivery.Entity, d)
	item, err := r.Company("a").Get(t.Context(), key, nil)
	errtest.Must(t, err)
	change := store.Change{
		Sequence: "1", Company: "a", Key: key, Entity: delivery.Entity, At: begun, Stored: r.Clock.Now().Add(5 * time.Second),
		New: &store.Image{Version: item.Version, Body: item.Body},
	}
	feed := feedOf(store.Batch{Changes: []store.Change{change}})
	r.run(feed)
	errtest.Must(t, <-feed.finished)
	var got delivery.Delivery
	if r.Get("a", key, &got); got.State != delivery.Scheduled {
		t.Errorf("the delivery is %s, want scheduled", got.State)
	}
}
