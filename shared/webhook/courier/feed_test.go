package courier

import (
	"testing"
	"time"

	"orgops/shared/webhook/endpoint"
)

// TestLanes_Overflow fills a lane to its limit and checks that every accepted task begins. It tests the lanes
// directly, because filling one through the feed takes long on a busy machine.
func TestLanes_Overflow(t *testing.T) {
	t.Parallel()
	const over = 20
	s := newSlots(TotalSlots, func() time.Time { return time.Unix(1_771_840_800, 0) })
	begun := 0
	s.work = func(*Task) {}
	e := endpoint.Key{Company: "a", Provider: "webhook"}
	places := firstWindow + maxWaiting
	for n := range places + over {
		ok, want := s.enter(&Task{slot: e}), n < places
		if ok != want {
			t.Fatalf("task %d is accepted: %t, want %t; the lane and the window have room for %d", n+1, ok, want, places)
		}
		if want := min(n+1, firstWindow); s.inFlight != want {
			t.Fatalf("%d of %d tasks began, want %d", s.inFlight, n+1, want)
		}
	}
	for range maxWaiting {
		if s.next(e) != nil {
			begun++
		}
	}
	if begun != maxWaiting {
		t.Errorf("%d waiting tasks began, want %d", begun, maxWaiting)
	}
	if left := len(s.close()); left != 0 {
		t.Errorf("%d tasks remain, want none", left)
	}
}
