package courier_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/breaker"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/post"
)

// TestCourier_Breaker reads the breaker that the processes of a fleet share, in a process that has sent nothing.
func TestCourier_Breaker(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	want := func(step string, want breaker.State) {
		t.Helper()
		c := f.couriers[processes-1]
		got, _, err := c.Breaker(t.Context(), store.For(c.Store, "a"), "webhook", "")
		errtest.Must(t, err)
		if got != want {
			t.Errorf("%s: breaker %s, want %s", step, got, want)
		}
	}
	want("before the first attempt", breaker.Closed)
	f.receiver.Status(http.StatusInternalServerError)
	for n := range 5 {
		f.retry(n)
	}
	want("after five failures", breaker.Open)
	f.Clock.Advance(31 * time.Second)
	want("when a probe may begin", breaker.HalfOpen)
	f.receiver.Status(http.StatusNoContent)
	f.retry(0)
	want("after the probe", breaker.Closed)
}

// TestCourier_Breaker_Alone reads the breaker of a process that sends alone.
func TestCourier_Breaker_Alone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	alone := courier.New(courier.Deps{Store: f.store, Vault: f.Vault, Client: f.Client, Engine: f.Engine, Logger: f.Logger, Now: f.Clock.Now})
	f.couriers[0] = alone
	f.receiver.Status(http.StatusInternalServerError)
	for n := range 6 {
		want := breaker.Closed
		if n > 4 {
			want = breaker.Open
		}
		got, _, err := alone.Breaker(t.Context(), store.For(f.store, "a"), "webhook", "")
		errtest.Must(t, err)
		if got != want {
			t.Errorf("after %d failures: breaker %s, want %s", n, got, want)
		}
		f.retry(0)
	}
}

// TestCourier_Resume tells why an endpoint is paused, and ends the pause. After failures the next attempt decides. A process that sends
// alone and a process that shares the bounds do the same.
func TestCourier_Resume(t *testing.T) {
	t.Parallel()
	for name, shares := range map[string]bool{"alone": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, nil, 0, testsTime)
			if !shares {
				f.couriers[0] = courier.New(courier.Deps{Store: f.store, Vault: f.Vault, Client: f.Client, Engine: f.Engine, Logger: f.Logger, Now: f.Clock.Now})
			}
			c, company := f.couriers[0], store.For(f.store, "a")
			want := func(step string, want *delivery.Pause) {
				t.Helper()
				_, got, err := c.Breaker(t.Context(), company, "webhook", "")
				errtest.Must(t, err)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: pause differs (-want +got):\n%s", step, diff)
				}
			}
			resume := func() {
				t.Helper()
				_, _, err := c.Resume(t.Context(), company, "webhook", "")
				errtest.Must(t, err)
				f.Clock.Advance(2 * time.Second) // other processes notice it
			}
			resume()
			want("before the first attempt", nil)
			began := f.Clock.Now().UTC()
			f.receiver.Status(http.StatusInternalServerError)
			for range 5 {
				f.retry(0)
			}
			want("after five failures", &delivery.Pause{Reason: delivery.PausedFailing, Since: began, Until: began.Add(30 * time.Second)})
			if f.attempts(0) {
				t.Error("an attempt during the pause, want none")
			}
			resume()
			want("resumed", nil)
			if !f.attempts(0) {
				t.Error("no attempt after the pause was ended, want one")
			}
			failed := f.Clock.Now().UTC()
			want("the attempt has failed", &delivery.Pause{Reason: delivery.PausedFailing, Since: began, Until: failed.Add(time.Minute)})
			resume()
			f.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			})
			f.retry(0)
			asked := f.Clock.Now().UTC()
			want("asked to wait", &delivery.Pause{Reason: delivery.PausedAsked, Since: asked, Until: asked.Add(time.Hour)})
			resume()
			f.receiver.Answer(nil)
			for range 2 {
				if !f.attempts(0) {
					t.Error("no attempt after the wait was ended, want one")
				}
			}
		})
	}
}

// TestCourier_Bounds_Many keeps the breaker of an endpoint that is in use when there are too many others, and drops it later.
func TestCourier_Bounds_Many(t *testing.T) {
	t.Parallel()
	clock := clocktest.At(time.Unix(1_771_840_800, 0))
	c := courier.New(courier.Deps{Now: clock.Now})
	company := store.For(nil, "a")
	for range breaker.After {
		c.Bounds(t.Context(), company).Done(post.Result{Status: http.StatusInternalServerError})
	}
	const many = 10_000
	others := func(round string) {
		for n := range many {
			c.Bounds(t.Context(), store.For(nil, fmt.Sprint(round, n)))
		}
	}
	want := func(when string, want breaker.State) {
		t.Helper()
		got, _, err := c.Breaker(t.Context(), company, "webhook", "")
		errtest.Must(t, err)
		if got != want {
			t.Errorf("%s: breaker %s, want %s", when, got, want)
		}
	}
	others("first")
	want("with many others", breaker.Open)
	clock.Advance(time.Minute)
	others("second")
	want("after a minute without a use", breaker.Closed)
}
