package dispatcher

import (
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// TestLanes_Overflow fills a lane to its limit and checks that every accepted job has its turn. It tests the lanes
// directly, because filling one through the feed takes long on a busy machine.
func TestLanes_Overflow(t *testing.T) {
	t.Parallel()
	const over = 20
	const slots = 16 // of an endpoint that has not answered yet
	places := slots + maxWaiting
	now := func() time.Time { return time.Unix(1_771_840_800, 0) }
	open, made := make(chan struct{}), make(chan struct{}, places)
	l := newLanes(courier.NewSlots(courier.TotalSlots, now), now, func(*job) {
		<-open
		made <- struct{}{}
	})
	endpoint := &courier.Endpoint{Company: store.For(nil, "a"), Integration: integration.Integration{Provider: "webhook"}}
	for n := range places + over {
		if taken := l.submit(&job{endpoint: endpoint}); taken != (n < places) {
			t.Fatalf("delivery %d of %d is taken: %t, want %t", n+1, places, taken, n < places)
		}
	}
	close(open)
	for range places {
		<-made
	}
	if jobs := l.close(); len(jobs) != 0 {
		t.Errorf("%d deliveries remain, want none", len(jobs))
	}
}
