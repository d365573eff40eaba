package courier_test

import (
	"net/http"
	"testing"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/courier"
)

// TestCourier_BreakerOf reads the breaker that the processes of a fleet share, in a process that has sent nothing.
func TestCourier_BreakerOf(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	want := func(step string, want courier.BreakerState) {
		t.Helper()
		c := f.couriers[processes-1]
		got, err := c.BreakerOf(t.Context(), store.For(c.Store, "a"), "webhook", "")
		errtest.Must(t, err)
		if got != want {
			t.Errorf("%s: breaker %s, want %s", step, got, want)
		}
	}
	want("before the first attempt", courier.BreakerClosed)
	f.receiver.Status(http.StatusInternalServerError)
	for n := range 5 {
		f.retry(n)
	}
	want("after five failures", courier.BreakerOpen)
	f.Clock.Advance(31 * time.Second)
	want("when a probe may begin", courier.BreakerHalfOpen)
	f.receiver.Status(http.StatusNoContent)
	f.retry(0)
	want("after the probe", courier.BreakerClosed)
}

// TestCourier_BreakerOf_Alone reads the breaker of a process that sends alone.
func TestCourier_BreakerOf_Alone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	alone := courier.New(courier.Deps{Store: f.store, Vault: f.Vault, Client: f.Client, Engine: f.Engine, Logger: f.Logger, Now: f.Clock.Now})
	f.couriers[0] = alone
	f.receiver.Status(http.StatusInternalServerError)
	for n := range 6 {
		want := courier.BreakerClosed
		if n > 4 {
			want = courier.BreakerOpen
		}
		got, err := alone.BreakerOf(t.Context(), store.For(f.store, "a"), "webhook", "")
		errtest.Must(t, err)
		if got != want {
			t.Errorf("after %d failures: breaker %s, want %s", n, got, want)
		}
		f.retry(0)
	}
}
