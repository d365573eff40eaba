package retrier_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
)

// TestRetrier_Measured counts the results of deliveries, and a failed last attempt as a dead letter.
func TestRetrier_Measured(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.handle(r.deliver(1))
	r.receiver.Status(500)
	j := r.deliver(2)
	r.handle(j)
	r.handle(j) // not due
	r.handle(r.deliver(3, func(d *delivery.Delivery) { d.Made = 9 }))
	r.handle(r.deliver(4, func(d *delivery.Delivery) { d.Endpoint = "webhook-gone" }))
	got, companies := r.Measured()
	want := map[string]float64{
		"DeliveriesSucceeded": 1, "DeliveryDelay": 1, "DeliveriesScheduled": 1, "DeliveriesDead": 1, "DeliveriesHeld": 1,
		"AttemptLatency": 3, "AttemptsFailed": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, companies); diff != "" {
		t.Errorf("companies of the failures differ (-want +got):\n%s", diff)
	}
}
