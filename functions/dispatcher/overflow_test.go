package dispatcher

import (
	"testing"
	"time"

	"orgops/shared/courier"
	"orgops/shared/integration"
	"orgops/shared/store"
)

// TestLanes_Overflow: a line has an end, and all that found a place in it has its turn. It is tested from inside, because
// to fill a line over the feed takes long on a busy machine.
func TestLanes_Overflow(t *testing.T) {
	t.Parallel()
	const places, over = maxPerEndpoint + maxWaiting, 20
	l := newLanes(func() time.Time { return time.Unix(1_771_840_800, 0) })
	open, made := make(chan struct{}), make(chan struct{}, places)
	attempt := func(*job) bool {
		<-open
		made <- struct{}{}
		return true
	}
	endpoint := &courier.Endpoint{Company: store.For(nil, "a"), Integration: integration.Integration{Provider: "webhook"}}
	for n := range places + over {
		if taken := l.submit(&job{endpoint: endpoint}, attempt); taken != (n < places) {
			t.Fatalf("delivery %d: taken %t", n, taken)
		}
	}
	close(open)
	for range places {
		<-made
	}
	if jobs := l.close(); len(jobs) != 0 {
		t.Errorf("%d deliveries are left", len(jobs))
	}
}
