package simulate_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
)

// TestHeld enables an endpoint and recovers what it has missed, while workers that have read it as disabled are about to hold its
// deliveries. One recovery sends them all.
func TestHeld(t *testing.T) {
	t.Parallel()
	for seed := range uint64(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed, nil)
				if left := w.heldMeanwhile(6); left > 0 {
					t.Errorf("seed %d: %d deliveries are not delivered after the recovery\n%s", seed, left, w.trace.tail(60))
				}
				w.end()
			})
		})
	}
}

// heldMeanwhile runs a world in which some calls are slow. An endpoint is enabled and recovered while its company gets events.
// heldMeanwhile returns how many deliveries have not arrived.
func (w *world) heldMeanwhile(events int) (left int) {
	w.plan.on[slow], w.plan.rate, w.plan.environments = true, 0.2, 100
	w.deploy()
	w.companies = []string{busy}
	r := &receiver{company: busy, provider: "webhook", events: []string{"memory.*"}, requests: map[string][]*request{}, secret: secretOf(w.seed, busy, "webhook")}
	w.receivers[r.host()] = r
	if err := w.subscribe(r); err != nil {
		w.t.Fatal(err)
	}
	if err := w.configure(busy, inbound, map[string]any{}, "", integration.InboundReceive, integration.MemoryUpsert); err != nil {
		w.t.Fatal(err)
	}
	w.runFor(time.Minute)
	w.client("disables", busy, func(ctx context.Context, cl client) error { return cl.edit(ctx, r.provider, disable) })()
	w.runFor(time.Minute)
	for i := range events {
		w.client(fmt.Sprintf("event %d", i), busy, w.remembers(fmt.Sprint(i)))()
	}
	w.client("recovers", busy, func(ctx context.Context, cl client) error {
		if err := cl.edit(ctx, r.provider, enable); err != nil {
			return err
		}
		return cl.recover(ctx, r.provider, "all")
	})()
	w.runFor(10 * time.Minute)
	w.eachDelivery(func(d stored) {
		if d.State != delivery.Delivered {
			left++
		}
	})
	return left
}
