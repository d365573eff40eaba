package dispatcher_test

import (
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/worktest"
)

// TestDispatcher_Replaced deletes an endpoint and registers another one of its name. What waits for the former one is held, and a
// change from before the other one existed, such as a parked one, is not sent to it.
func TestDispatcher_Replaced(t *testing.T) {
	t.Parallel()
	r := patient(t)
	receiver, other := r.Receive(), r.Receive()
	open := receiver.Gate()
	e := worktest.Endpoint{
		Company: "a", Provider: "webhook", URL: receiver.URL, Secrets: receiver.Secrets, Events: []string{"memory.*"}, Incarnation: id.New(),
	}
	r.Register(e)
	r.rememberMany("a", perEndpoint+5)
	worktest.Until(t, "the endpoint hangs", func() bool { return len(receiver.All()) == perEndpoint })
	r.handled()
	r.Clock.Advance(time.Second)
	e.URL, e.Secrets, e.Incarnation = other.URL, other.Secrets, id.New()
	r.Replace(e)
	r.handled()
	open()
	r.wantSettled("a", states{delivery.Delivered: perEndpoint, delivery.Held: 5})
	for _, d := range r.deliveries("a") {
		if d.State == delivery.Held && d.HeldBecause != delivery.HeldDeleted {
			t.Errorf("held because of %q, want %q", d.HeldBecause, delivery.HeldDeleted)
		}
	}
	late := r.Changes(perEndpoint + 5)[perEndpoint]
	done := make(chan error, 1)
	r.dispatcher.Handle(t.Context(), store.Batch{Changes: []store.Change{late}, Replay: true}, func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Errorf("a change from before: %v", err)
	}
	r.wantReceived(other, 0)
	r.remember("a", 1000)
	r.wantSettled("a", states{delivery.Delivered: perEndpoint + 1, delivery.Held: 5})
	r.wantReceived(other, 1)
}
