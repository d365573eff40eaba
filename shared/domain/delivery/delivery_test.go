package delivery_test

import (
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestKey(t *testing.T) {
	t.Parallel()
	first, later := delivery.Key(id.At(now, "a"), "webhook-b"), delivery.Key(id.At(now.Add(time.Millisecond), "b"), "webhook")
	if first >= later {
		t.Error("deliveries do not sort by their events' times")
	}
	for _, endpoint := range []string{"webhook", "webhook-b"} {
		if got := delivery.EndpointOf(delivery.Key(id.New(), endpoint)); got != endpoint {
			t.Errorf("EndpointOf = %q, want %q", got, endpoint)
		}
	}
	if got := delivery.EndpointOf("DELIVERY#x"); got != "" {
		t.Errorf("EndpointOf a key without an endpoint = %q", got)
	}
}

func TestDelivery_Log(t *testing.T) {
	t.Parallel()
	d := delivery.Delivery{}
	if _, ok := d.Last(); ok {
		t.Error("Last of an empty log reports ok")
	}
	for n := range delivery.MaxAttempts + 5 {
		d.Log(delivery.Attempt{Number: n + 1})
	}
	last, ok := d.Last()
	if !ok || len(d.Attempts) != delivery.MaxAttempts || d.Attempts[0].Number != 6 || last.Number != delivery.MaxAttempts+5 || d.Made != delivery.MaxAttempts+5 {
		t.Errorf("%d attempts, %d made, from %d to %d", len(d.Attempts), d.Made, d.Attempts[0].Number, last.Number)
	}
}

func TestDelivery_States(t *testing.T) {
	t.Parallel()
	d := delivery.Delivery{}
	d.Hold("sandbox")
	if d.State != delivery.Held || d.HeldBecause != "sandbox" || d.Open() || !d.Recoverable() || d.Generation != 0 {
		t.Errorf("held: %+v", d)
	}
	d.Log(delivery.Attempt{Number: 1})
	d.Restart(now.In(time.FixedZone("", 3600)))
	if !d.Open() || d.Recoverable() || d.HeldBecause != "" || d.Generation != 1 || d.Made != 0 || len(d.Attempts) != 1 || *d.NextAttemptAt != now {
		t.Errorf("restarted: %+v", d)
	}
	d.Postpone(now.Add(time.Hour))
	if d.Generation != 1 || !d.NextAttemptAt.Equal(now.Add(time.Hour)) {
		t.Errorf("postponed: %+v", d)
	}
	d.Enqueue(now)
	if d.Generation != 2 {
		t.Errorf("enqueued: %+v", d)
	}
	for state, recoverable := range map[delivery.State]bool{delivery.Delivered: false, delivery.Failed: true, delivery.Dead: true} {
		if d.End(state); d.State != state || d.NextAttemptAt != nil || d.Open() || d.Recoverable() != recoverable {
			t.Errorf("%s: %+v", state, d)
		}
	}
}
