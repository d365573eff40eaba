package courier_test

import (
	"testing"
	"time"

	"orgops/shared/webhook/courier"
)

// TestSlots_ComeBack lets the deliveries that find no slot come back as the endpoint serves those before them: the more wait,
// the later, and never after a minute.
func TestSlots_ComeBack(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 16), key("a", "webhook")
	p.fill(e, courier.Queue)
	p.Record(e, answer(time.Second))
	wait := func(n int) (last time.Duration) {
		for range n {
			last = p.ComeBack(e, time.Second).Sub(start)
		}
		return last
	}
	for _, tt := range []struct {
		n           int
		least, most time.Duration
	}{{1, time.Second, time.Second}, {100, 2 * time.Second, 10 * time.Second}, {400, 8 * time.Second, 50 * time.Second}, {10_000, 30 * time.Second, time.Minute}} {
		if got := wait(tt.n); got < tt.least || got > tt.most {
			t.Errorf("the last of %d more comes back after %v, want %v to %v", tt.n, got, tt.least, tt.most)
		}
	}
}
