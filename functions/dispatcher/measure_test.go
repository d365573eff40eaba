package dispatcher_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// TestDispatcher_Measured counts the results of deliveries when they are recorded.
func TestDispatcher_Measured(t *testing.T) {
	t.Parallel()
	r := start(t)
	well, broken, gone := r.Receive(), r.Receive(), r.Receive()
	broken.Status(500)
	gone.Status(410)
	r.Subscribe("a", "webhook", well, "memory.*")
	r.Subscribe("b", "webhook", broken, "memory.*")
	r.Subscribe("c", "webhook", gone, "memory.*")
	r.Subscribe("d", "webhook", well, "memory.*")
	r.Change("d", "webhook", func(i *integration.Integration) { i.Enabled = false })
	r.Put("e", "MEMORY#odd", "memory", json.RawMessage(`[1]`))
	r.Put("e", "MEMORY#odd", "memory", json.RawMessage(`[2]`)) // cannot be decoded
	for _, company := range []string{"a", "d", "c"} {
		r.remember(company, 1)
	}
	r.rememberMany("b", 5)
	r.settled("a", 1)
	for company, n := range map[string]int{"b": 5, "c": 1, "d": 1} {
		r.settled(company, n)
	}
	r.stop()
	got, companies := r.Measured()
	want := map[string]float64{
		"DeliveriesSucceeded": 1, "DeliveryDelay": 1, "DeliveriesScheduled": 5, "DeliveriesFailed": 1, "DeliveriesHeld": 1,
		"AttemptLatency": 7, "AttemptsFailed": 6, "BreakersOpened": 1, "ChangesParked": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "c", "e"}, companies); diff != "" {
		t.Errorf("companies of the failures differ (-want +got):\n%s", diff)
	}
}

// TestDispatcher_Measured_NotRecorded checks that a result that is recorded at the second try is counted once.
func TestDispatcher_Measured_NotRecorded(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.faulty.Once(delivery.Entity, store.ErrUnavailable)
	r.remember("a", 1)
	r.settled("a", 1)
	r.stop()
	got, _ := r.Measured()
	want := map[string]float64{"DeliveriesSucceeded": 1, "DeliveryDelay": 1, "AttemptLatency": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
}
