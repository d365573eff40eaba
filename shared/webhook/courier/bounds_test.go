package courier_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/breaker"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/post"
)

// suite runs a test with each home of the bounds of endpoint "webhook" of company a.
type suite struct {
	*running
	t *testing.T
	courier.Bounds
}

func everyHome(t *testing.T, test func(s *suite)) {
	t.Helper()
	for name, shared := range map[string]bool{"memory": false, "lease": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, 0, func(d *courier.Deps) { d.Shared = shared })
			test(&suite{r, t, r.Bounds(t.Context(), r.Company("a"))})
		})
	}
}

// failure and success are results of attempts.
var (
	failure = post.Result{Class: post.Failed, Status: http.StatusInternalServerError}
	success = post.Result{Class: post.Delivered, Status: http.StatusNoContent}
)

// done ends n attempts that were admitted before.
func (s *suite) done(n int, r post.Result) {
	for range n {
		s.Done(r)
	}
}

// wantBreaker checks the breaker's state, and then whether an attempt is admitted or when to ask again.
func (s *suite) wantBreaker(step string, ok bool, retryIn time.Duration, state breaker.State) {
	s.t.Helper()
	got, _, err := s.Breaker(s.t.Context(), s.Company("a"), "webhook", "")
	errtest.Must(s.t, err)
	if got != state {
		s.t.Errorf("%s: state = %s, want %s", step, got, state)
	}
	at, admitted := s.Admit(0, 1)
	if admitted != ok {
		s.t.Errorf("%s: admitted = %t, want %t", step, admitted, ok)
	}
	if !admitted && !at.Equal(s.Clock.Now().Add(retryIn)) {
		s.t.Errorf("%s: retry in %s, want %s", step, at.Sub(s.Clock.Now()), retryIn)
	}
}

// TestBounds_Breaker opens the breaker after five failures in a row, and lets one probe decide.
func TestBounds_Breaker(t *testing.T) {
	t.Parallel()
	everyHome(t, func(s *suite) {
		s.done(4, failure)
		s.wantBreaker("four failures", true, 0, breaker.Closed)
		s.done(1, success)
		s.done(4, failure)
		s.wantBreaker("a success between", true, 0, breaker.Closed)
		s.done(1, failure)
		s.wantBreaker("five in a row", false, 30*time.Second, breaker.Open)
		s.done(3, failure)
		s.wantBreaker("attempts that began before it opened", false, 30*time.Second, breaker.Open)
		s.Clock.Advance(30 * time.Second)
		s.wantBreaker("the probe", true, 0, breaker.HalfOpen)
		s.wantBreaker("a second probe", false, 30*time.Second, breaker.HalfOpen)
		s.Leave()
		s.wantBreaker("a probe in place of one that was not made", true, 0, breaker.HalfOpen)
		for _, open := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
			s.done(1, failure)
			s.wantBreaker("the probe failed", false, open, breaker.Open)
			s.Clock.Advance(open)
			s.wantBreaker("the next probe", true, 0, breaker.HalfOpen)
		}
		s.Clock.Advance(30 * time.Second)
		s.wantBreaker("an unreported probe expires", true, 0, breaker.HalfOpen)
		s.done(1, success)
		s.wantBreaker("the probe succeeded", true, 0, breaker.Closed)
		s.done(5, failure)
		s.wantBreaker("from the beginning", false, 30*time.Second, breaker.Open)
	})
}

// TestBounds_Asked holds all attempts while the endpoint has asked for a wait. A shorter wait does not shorten a longer one.
func TestBounds_Asked(t *testing.T) {
	t.Parallel()
	everyHome(t, func(s *suite) {
		for _, longer := range []time.Duration{time.Minute, time.Second} {
			asked := post.Result{Class: post.Throttled, Status: http.StatusTooManyRequests, RetryAfter: longer, RetryAt: s.Clock.Now().Add(longer)}
			s.Done(asked)
		}
		s.wantBreaker("asked for a minute", false, time.Minute, breaker.Open)
		s.Clock.Advance(time.Minute)
		s.wantBreaker("after the minute", true, 0, breaker.Closed)
	})
}

// TestBounds_Occupy lets one recovery at a time send to an endpoint, until it ends or its process has died.
func TestBounds_Occupy(t *testing.T) {
	t.Parallel()
	everyHome(t, func(s *suite) {
		e := s.endpoints(1)[0]
		want := func(step string, want error) (end func()) {
			s.t.Helper()
			end, err := s.Occupy(s.t.Context(), e)
			if !errors.Is(err, want) {
				s.t.Errorf("%s: error %v, want %v", step, err, want)
			}
			return end
		}
		end := want("at first", nil)
		want("while another one sends", store.ErrConflict)
		end()
		want("after its end", nil)
		s.Clock.Advance(2 * time.Minute)
		want("two minutes after a kill", store.ErrConflict)
		s.Clock.Advance(time.Minute)
		want("three minutes after a kill", nil)
	})
}

// TestBounds_Rate admits no more attempts than the rate and a burst of a twentieth of a second, and none fewer.
func TestBounds_Rate(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"memory": false, "lease": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, 0, func(d *courier.Deps) { d.Shared, d.Now = shared, time.Now })
			b := r.Bounds(t.Context(), r.Company("a"))
			const rate, enough = 100, 50
			began := time.Now()
			for n := 0; n < enough; {
				until, ok := b.Admit(rate, enough)
				if ok {
					n++
					continue
				}
				wait.For(t.Context(), time.Until(until))
			}
			if took, least := time.Since(began), (enough-rate/10)*time.Second/rate; took < least {
				t.Errorf("%d attempts at %d a second took %v, want at least %v", enough, rate, took, least)
			}
		})
	}
}

// TestBounds_Rate_Long admits the rate for ten seconds, and no more after an idle hour than at first.
func TestBounds_Rate_Long(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 7, 10, 100, 1000} {
		r := setup(t, 0)
		b := r.Bounds(t.Context(), r.Company("a"))
		ends, taken := r.Clock.Now().Add(10*time.Second), 0
		for r.Clock.Now().Before(ends) {
			at, ok := b.Admit(rate, 1)
			if ok {
				taken++
				continue
			}
			if !at.After(r.Clock.Now()) {
				t.Fatalf("%d/s: refused until %s at %s", rate, at, r.Clock.Now())
			}
			r.Clock.Set(at)
		}
		if limit := 10*rate + max(rate/10, 1); taken < 10*rate || taken > limit {
			t.Errorf("%d/s: %d in ten seconds, want %d to %d", rate, taken, 10*rate, limit)
		}
		r.Clock.Advance(time.Hour)
		burst := 0
		for ok := true; ok; _, ok = b.Admit(rate, 1) {
			burst++
		}
		if want := max(rate/10, 1); burst-1 != want {
			t.Errorf("%d/s: %d at once after an idle hour, want %d", rate, burst-1, want)
		}
	}
}

// TestBounds_Rate_Spread gives deliveries over the rate limit distinct times, at most half a minute ahead. A source that
// has its deliveries in hand gets the next token's time for each.
func TestBounds_Rate_Spread(t *testing.T) {
	t.Parallel()
	r := setup(t, 0)
	b, now := r.Bounds(t.Context(), r.Company("a")), r.Clock.Now()
	want := func(what string, inHand int, want time.Duration) {
		t.Helper()
		until, _ := b.Admit(1, inHand)
		if got := until.Sub(now); got != want { // of an admitted one, until is zero
			t.Fatalf("%s waits %v, want %v", what, got, want)
		}
	}
	if until, ok := b.Admit(1, 0); !ok {
		t.Fatalf("the first waits until %v, want no wait", until)
	}
	for n := range 100 {
		want("a delivery", 0, time.Duration(n%29+1)*time.Second)
	}
	for range 3 {
		want("a delivery in hand", 1, time.Second)
	}
}
