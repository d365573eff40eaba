package delivery_test

import (
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

func TestDelivery_Overdue(t *testing.T) {
	t.Parallel()
	d := delivery.Delivery{}
	d.Enqueue(now)
	for after, want := range map[time.Duration]bool{-time.Hour: false, delivery.OverdueAfter: false, delivery.OverdueAfter + time.Second: true} {
		if got := d.Overdue(now.Add(after)); got != want {
			t.Errorf("%v after its time: Overdue = %t, want %t", after, got, want)
		}
	}
	d.Hold("sandbox")
	if d.Overdue(now.Add(24 * time.Hour)) {
		t.Error("a held delivery is overdue, want not")
	}
}

// TestLookout checks that the attempts due in one hour, of events of one hour, share a timer, which fires when all of them would
// be overdue, and that the timer's query covers their deliveries.
func TestLookout(t *testing.T) {
	t.Parallel()
	created := now.Add(-90 * time.Minute) // 10:30
	change := func(created, due time.Time) store.Change {
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(created, due.String()), Endpoint: "webhook"}, Payload: []byte(`{}`)}
		d.Enqueue(due)
		return store.Change{Company: "a", Entity: delivery.Entity, Key: delivery.Key(d.EventID, d.Endpoint), New: image(t, d)}
	}
	want, subject, ok := delivery.TransitionOf(change(created, now)).Lookout()
	if !ok {
		t.Fatal("a scheduled delivery requires no timer")
	}
	if latest := now.Add(time.Hour - time.Millisecond); !want.After(latest.Add(delivery.OverdueAfter)) {
		t.Errorf("the timer is at %v, before an attempt of %v is overdue", want, latest)
	}
	if wait := want.Sub(now); wait > 80*time.Minute {
		t.Errorf("the timer fires %v after the attempt, want at most 80m", wait)
	}
	for _, other := range []store.Change{change(created.Add(29*time.Minute), now.Add(59*time.Minute)), change(created.Add(-30*time.Minute), now)} {
		at, sub, _ := delivery.TransitionOf(other).Lookout()
		if got, want := at.String()+" "+sub, want.String()+" "+subject; got != want {
			t.Errorf("another delivery of these hours has the timer %s, want %s", got, want)
		}
		q, ok := delivery.Overlooked(subject)
		if !ok {
			t.Fatalf("subject %q has no query", subject)
		}
		if inside := q.From <= other.Key && other.Key <= q.To; !inside {
			t.Errorf("%s is outside of the query %+v", other.Key, q)
		}
	}
	if _, sub, _ := delivery.TransitionOf(change(created.Add(31*time.Minute), now)).Lookout(); sub == subject {
		t.Errorf("an event of the next hour has the subject %s, want another", sub)
	}
	if q, _ := delivery.Overlooked(delivery.Rest(delivery.Rest(subject, "x"), "DELIVERY#y#webhook")); q.After != "DELIVERY#y#webhook" {
		t.Errorf("the rest starts after %q, want DELIVERY#y#webhook", q.After)
	}
	if _, ok := delivery.Overlooked("noon"); ok {
		t.Error("the subject noon has a query")
	}

	ended := change(created, now)
	ended.New = image(t, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered}, Payload: []byte(`{}`)})
	removed, other := change(created, now), change(created, now)
	removed.New, other.Entity = nil, "goal"
	for name, c := range map[string]store.Change{"ended": ended, "removed": removed, "of another entity": other} {
		if _, _, ok := delivery.TransitionOf(c).Lookout(); ok {
			t.Errorf("a change that is %s requires a timer, want none", name)
		}
	}
}
