package simulate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
)

// TestChains_TenAttempts delivers one event to an endpoint that never accepts it. The attempts of three days take about an
// invocation each, because a long wait is a timer.
func TestChains_TenAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, nil)
		w.deploy()
		w.companies = []string{busy}
		r := &receiver{company: busy, provider: "webhook", mood: departed, events: []string{"memory.*"}, requests: map[string][]*request{}, secret: secretOf(w.seed, busy, "webhook")}
		w.receivers[r.host()] = r
		if err := w.subscribe(r); err != nil {
			t.Fatal(err)
		}
		if err := w.configure(busy, inbound, map[string]any{}, "", integration.InboundReceive, integration.MemoryUpsert); err != nil {
			t.Fatal(err)
		}
		w.calm, w.ticks = true, time.Now().Truncate(time.Minute).Add(time.Minute)
		w.client("event", busy, w.remembers("event"))()
		w.until()
		w.eachDelivery(func(d stored) {
			if d.State != delivery.Dead {
				t.Errorf("the delivery is %s, want dead\n%s", d.State, w.trace.tail(40))
			}
			if d.Made != 10 {
				t.Errorf("%d attempts were made, want 10", d.Made)
			}
		})
		calls := 0
		for _, f := range w.functions {
			if f.name == "retrier" {
				calls = f.calls
			}
		}
		t.Logf("10 attempts: %d invocations of the retrier, %d in one chain", calls, w.longest)
		if calls > 12 {
			t.Errorf("the retrier was invoked %d times for 9 attempts, want at most 12", calls)
		}
		if w.longest > 2 {
			t.Errorf("%d invocations are in one chain, want at most 2", w.longest)
		}
		w.end()
	})
}
