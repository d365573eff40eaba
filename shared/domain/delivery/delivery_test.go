package delivery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		t.Errorf("EndpointOf a key without an endpoint = %q, want none", got)
	}
}

func TestDelivery_Log(t *testing.T) {
	t.Parallel()
	d := delivery.Delivery{}
	if _, ok := d.Last(); ok {
		t.Error("Last of an empty log reports ok")
	}
	const made = delivery.MaxAttempts + 5
	var all []delivery.Attempt
	for n := range made {
		all = append(all, delivery.Attempt{Number: n + 1})
		d.Log(all[n])
	}
	if diff := cmp.Diff(delivery.Delivery{Head: delivery.Head{Made: made}, Attempts: all[5:]}, d); diff != "" {
		t.Errorf("delivery differs (-want +got):\n%s", diff)
	}
	last, ok := d.Last()
	if !ok {
		t.Error("Last of a log with attempts does not report ok")
	}
	if diff := cmp.Diff(all[made-1], last); diff != "" {
		t.Errorf("last attempt differs (-want +got):\n%s", diff)
	}
}

func TestDelivery_States(t *testing.T) {
	t.Parallel()
	d := delivery.Delivery{}
	expect := func(step string, want delivery.Delivery, open, recoverable bool) {
		t.Helper()
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("%s: delivery differs (-want +got):\n%s", step, diff)
		}
		if got := d.Open(); got != open {
			t.Errorf("%s: Open = %t, want %t", step, got, open)
		}
		if got := d.Recoverable(); got != recoverable {
			t.Errorf("%s: Recoverable = %t, want %t", step, got, recoverable)
		}
	}
	d.Hold("sandbox")
	expect("held", delivery.Delivery{Head: delivery.Head{State: delivery.Held, HeldBecause: "sandbox"}}, false, true)
	log, later := []delivery.Attempt{{Number: 1}}, now.Add(time.Hour)
	d.Log(log[0])
	d.Restart(now.In(time.FixedZone("", 3600)))
	expect("restarted", delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Generation: 1, NextAttemptAt: &now}, Attempts: log}, true, false)
	if got := d.NextAttemptAt.Location(); got != time.UTC {
		t.Errorf("restarted: next attempt at a time of %v, want UTC", got)
	}
	d.Postpone(later)
	expect("postponed", delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Generation: 1, NextAttemptAt: &later}, Attempts: log}, true, false)
	d.Enqueue(now)
	expect("enqueued", delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, Generation: 2, NextAttemptAt: &now}, Attempts: log}, true, false)
	for state, recoverable := range map[delivery.State]bool{delivery.Delivered: false, delivery.Failed: true, delivery.Dead: true} {
		d.End(state)
		expect(string(state), delivery.Delivery{Head: delivery.Head{State: state, Generation: 2}, Attempts: log}, false, recoverable)
	}
}

// TestDelivery_Postpone checks that a delivery is due when its message arrives, whose time is in milliseconds.
func TestDelivery_Postpone(t *testing.T) {
	t.Parallel()
	var d delivery.Delivery
	d.Postpone(now.Add(1500 * time.Microsecond))
	if want := now.Add(time.Millisecond); !d.NextAttemptAt.Equal(want) {
		t.Errorf("due at %v, want %v", d.NextAttemptAt, want)
	}
}
