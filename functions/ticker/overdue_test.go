package ticker_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// scheduled records deliveries whose events are a second apart and whose attempts are due as the function says, with the timers
// that the dispatcher sets for them.
func (r *running) scheduled(n int, due func(i int) time.Time) {
	r.T.Helper()
	c, timers := r.Company("a"), map[string]bool{}
	for i := range n {
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(r.Clock.Now().Add(time.Duration(i)*time.Second), fmt.Sprint(i)), Endpoint: "webhook", Made: 3}, Payload: json.RawMessage(`{}`)}
		d.CreatedAt, _ = id.Time(d.EventID)
		d.Enqueue(due(i))
		key := delivery.Key(d.EventID, d.Endpoint)
		r.Put("a", key, delivery.Entity, d)
		body, err := json.Marshal(d)
		errtest.Must(r.T, err)
		at, subject, ok := delivery.TransitionOf(store.Change{Company: "a", Entity: delivery.Entity, Key: key, New: &store.Image{Body: body}}).Lookout()
		if !ok {
			r.T.Fatal("a scheduled delivery requires no timer")
		}
		op := c.Timer(at, delivery.OverdueTimer, subject)
		if !timers[op.Key] {
			errtest.Must(r.T, c.Commit(r.T.Context(), op))
			timers[op.Key] = true
		}
	}
}

// again counts the deliveries by their generation, which grows when the delivery is put into the queue.
func (r *running) again() map[int]int {
	r.T.Helper()
	n := map[int]int{}
	for _, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
		n[d.Generation]++
		if d.Made != 3 {
			r.T.Errorf("%s has made %d attempts, want the 3 before", d.EventID, d.Made)
		}
		if d.Generation > 1 && !d.NextAttemptAt.Equal(r.Clock.Now()) {
			r.T.Errorf("%s is due at %v, want now, %v", d.EventID, d.NextAttemptAt, r.Clock.Now())
		}
	}
	return n
}

// TestTicker_Overdue puts the deliveries whose message was lost into the queue again, about an hour after they were due, and
// leaves the others.
func TestTicker_Overdue(t *testing.T) {
	t.Parallel()
	r := setup(t)
	start := r.Clock.Now()                                                                          // 12:30
	r.scheduled(4, func(i int) time.Time { return start.Add(time.Duration(i) * 25 * time.Minute) }) // 12:30, 12:55, 13:20, 13:45
	r.Clock.Set(start.Truncate(time.Hour).Add(75 * time.Minute))                                    // 13:15
	r.tick()
	if diff := cmp.Diff(map[int]int{1: 4}, r.again()); diff != "" {
		t.Errorf("generations before the timer (-want +got):\n%s", diff)
	}
	r.Clock.Advance(time.Minute)
	r.tick()
	if diff := cmp.Diff(map[int]int{1: 2, 2: 2}, r.again()); diff != "" {
		t.Errorf("generations after the first timer (-want +got):\n%s", diff)
	}
	r.tick()
	if diff := cmp.Diff(map[int]int{1: 2, 2: 2}, r.again()); diff != "" {
		t.Errorf("generations after another tick (-want +got):\n%s", diff)
	}
}

// TestTicker_Overdue_Many puts more deliveries into the queue than a commit may hold, some a minute.
func TestTicker_Overdue_Many(t *testing.T) {
	t.Parallel()
	r := setup(t)
	start := r.Clock.Now()
	r.scheduled(250, func(int) time.Time { return start })
	r.Clock.Advance(2 * time.Hour)
	left := 250
	for minute := 0; left > 0 && minute < 5; minute++ {
		r.tick()
		left = 0
		for _, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
			if d.Generation == 1 {
				left++
			}
		}
		r.Clock.Advance(time.Minute)
	}
	if left > 0 {
		t.Errorf("%d deliveries are overdue after five minutes, want 0", left)
	}
	r.wantNoTimers(start)
}
