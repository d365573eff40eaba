package courier_test

import (
	"testing"
	"time"

	"orgops/shared/webhook/courier"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestNext(t *testing.T) {
	t.Parallel()
	waits := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
		20 * time.Hour, 24 * time.Hour,
	}
	for i, wait := range waits {
		for random, want := range map[float64]time.Duration{0: wait * 8 / 10, 0.5: wait, 0.999999: wait * 12 / 10} {
			at, ok := courier.Next(i+1, courier.Outcome{}, start, random)
			if !ok {
				t.Errorf("after attempt %d with %g: no retry, want one in %s", i+1, random, want)
			}
			if off := at.Sub(start.Add(want)).Abs(); off > want/100_000+time.Millisecond {
				t.Errorf("after attempt %d with %g: retry in %s, want %s", i+1, random, at.Sub(start), want)
			}
		}
	}
	ends := []struct {
		made  int
		class courier.Class
	}{{10, courier.Failed}, {11, courier.Throttled}, {1, courier.Gone}, {1, courier.Delivered}}
	for _, tt := range ends {
		if at, ok := courier.Next(tt.made, courier.Outcome{Class: tt.class}, start, 0.5); ok {
			t.Errorf("%s after %d attempts: retry at %s, want no retry", tt.class, tt.made, at)
		}
	}
	asked := courier.Outcome{Class: courier.Throttled, RetryAfter: time.Hour}
	if at, _ := courier.Next(1, asked, start, 0.5); !at.Equal(start.Add(time.Hour)) {
		t.Errorf("asked for an hour: retry in %s, want %s", at.Sub(start), time.Hour)
	}
	if at, _ := courier.Next(5, asked, start, 0.5); !at.Equal(start.Add(5 * time.Hour)) {
		t.Errorf("asked for an hour where the schedule waits five: retry in %s, want %s", at.Sub(start), 5*time.Hour)
	}
}

func TestCourier_SpillDelay(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64]time.Duration{0: time.Second, 0.5: 2 * time.Second, 0.75: 2500 * time.Millisecond} {
		c := courier.New(courier.Deps{Random: func() float64 { return random }})
		if got := c.SpillDelay(); got != want {
			t.Errorf("with %g: a delay of %v, want %v", random, got, want)
		}
	}
	got := courier.New(courier.Deps{}).SpillDelay()
	if off := (got - 2*time.Second).Abs(); off > time.Second {
		t.Errorf("without Random: a delay of %v, want 1 s to 3 s", got)
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	var b courier.Breaker
	now := start
	expect := func(step string, want bool, retryIn time.Duration, state courier.BreakerState) {
		t.Helper()
		if got := b.State(now); got != state {
			t.Errorf("%s: state = %s, want %s", step, got, state)
		}
		ok, at := b.Allow(now)
		if ok != want {
			t.Errorf("%s: allowed = %t, want %t", step, ok, want)
		}
		if !ok && !at.Equal(now.Add(retryIn)) {
			t.Errorf("%s: retry in %s, want %s", step, at.Sub(now), retryIn)
		}
	}
	fail := func(n int) {
		for range n {
			b.Done(false, now)
		}
	}
	fail(4)
	expect("four failures", true, 0, courier.BreakerClosed)
	b.Done(true, now)
	fail(4)
	expect("a success between", true, 0, courier.BreakerClosed)
	fail(1)
	expect("five in a row", false, 30*time.Second, courier.BreakerOpen)
	fail(3)
	expect("attempts that began before it opened", false, 30*time.Second, courier.BreakerOpen)
	now = now.Add(30 * time.Second)
	expect("the probe", true, 0, courier.BreakerHalfOpen)
	expect("a second probe", false, 30*time.Second, courier.BreakerHalfOpen)
	for _, open := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		fail(1)
		expect("the probe failed", false, open, courier.BreakerOpen)
		now = now.Add(open)
		expect("the next probe", true, 0, courier.BreakerHalfOpen)
	}
	now = now.Add(30 * time.Second)
	expect("an unreported probe expires", true, 0, courier.BreakerHalfOpen)
	b.Done(true, now)
	expect("the probe succeeded", true, 0, courier.BreakerClosed)
	fail(5)
	expect("from the beginning", false, 30*time.Second, courier.BreakerOpen)
}

func TestBreaker_Hold(t *testing.T) {
	t.Parallel()
	var b courier.Breaker
	b.Hold(start.Add(time.Minute), start)
	b.Hold(start.Add(time.Second), start) // a shorter hold does not shorten a longer one
	ok, at := b.Allow(start)
	if ok {
		t.Error("allowed at once, want it held for a minute")
	}
	if want := start.Add(time.Minute); !at.Equal(want) {
		t.Errorf("held until %s, want %s", at, want)
	}
	if ok, _ := b.Allow(start.Add(time.Minute)); !ok {
		t.Error("still held after the minute")
	}
	b.Hold(start.Add(24*time.Hour), start)
	if _, at := b.Allow(start.Add(time.Hour)); !at.Equal(start.Add(24 * time.Hour)) {
		t.Errorf("asked for a day: held until %s, want %s", at, start.Add(24*time.Hour))
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 7, 10, 100, 1000} {
		l := courier.NewLimiter(rate)
		now, taken := start, 0
		for now.Before(start.Add(10 * time.Second)) {
			ok, at := l.Allow(now)
			if ok {
				taken++
				continue
			}
			if !at.After(now) {
				t.Fatalf("%d/s: refused until %s at %s", rate, at, now)
			}
			now = at
		}
		if limit := 10*rate + max(rate/10, 1); taken < 10*rate || taken > limit {
			t.Errorf("%d/s: %d in ten seconds, want %d to %d", rate, taken, 10*rate, limit)
		}
	}
	l := courier.NewLimiter(10)
	l.Allow(start)
	later, burst := start.Add(time.Hour), 0 // an idle hour does not save up tokens
	for ok := true; ok; ok, _ = l.Allow(later) {
		burst++
	}
	if burst-1 != 1 {
		t.Errorf("%d at once after an idle hour, want 1", burst-1)
	}
}
