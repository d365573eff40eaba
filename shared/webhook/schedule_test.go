package webhook_test

import (
	"testing"
	"time"

	"orgops/shared/webhook"
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
			at, ok := webhook.Next(i+1, webhook.Outcome{}, start, random)
			if off := at.Sub(start.Add(want)).Abs(); !ok || off > want/100_000+time.Millisecond {
				t.Errorf("after attempt %d with %g: %s, %t; want %s", i+1, random, at.Sub(start), ok, want)
			}
		}
	}
	ends := []struct {
		made  int
		class webhook.Class
	}{{10, webhook.Failed}, {11, webhook.Throttled}, {1, webhook.Gone}, {1, webhook.Delivered}}
	for _, tt := range ends {
		if at, ok := webhook.Next(tt.made, webhook.Outcome{Class: tt.class}, start, 0.5); ok {
			t.Errorf("%s after %d attempts: again at %s", tt.class, tt.made, at)
		}
	}
	asked := webhook.Outcome{Class: webhook.Throttled, RetryAfter: time.Hour}
	if at, _ := webhook.Next(1, asked, start, 0.5); !at.Equal(start.Add(time.Hour)) {
		t.Errorf("asked for an hour: %s", at.Sub(start))
	}
	if at, _ := webhook.Next(5, asked, start, 0.5); !at.Equal(start.Add(5 * time.Hour)) {
		t.Errorf("asked for an hour where the schedule waits five: %s", at.Sub(start))
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	var b webhook.Breaker
	now := start
	expect := func(step string, want bool, retryIn time.Duration, state webhook.BreakerState) {
		t.Helper()
		if got := b.State(now); got != state {
			t.Errorf("%s: state %s, want %s", step, got, state)
		}
		ok, at := b.Allow(now)
		if ok != want || !ok && !at.Equal(now.Add(retryIn)) {
			t.Errorf("%s: allowed %t, retry in %s; want %t, %s", step, ok, at.Sub(now), want, retryIn)
		}
	}
	fail := func(n int) {
		for range n {
			b.Done(false, now)
		}
	}
	fail(4)
	expect("four failures", true, 0, webhook.BreakerClosed)
	b.Done(true, now)
	fail(4)
	expect("a success between", true, 0, webhook.BreakerClosed)
	fail(1)
	expect("five in a row", false, 30*time.Second, webhook.BreakerOpen)
	fail(3)
	expect("attempts from before", false, 30*time.Second, webhook.BreakerOpen)
	now = now.Add(30 * time.Second)
	expect("the probe", true, 0, webhook.BreakerHalfOpen)
	expect("one only", false, 30*time.Second, webhook.BreakerHalfOpen)
	for _, open := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		fail(1)
		expect("the probe failed", false, open, webhook.BreakerOpen)
		now = now.Add(open)
		expect("the next probe", true, 0, webhook.BreakerHalfOpen)
	}
	now = now.Add(30 * time.Second)
	expect("a probe that nobody reported expires", true, 0, webhook.BreakerHalfOpen)
	b.Done(true, now)
	expect("the probe succeeded", true, 0, webhook.BreakerClosed)
	fail(5)
	expect("from the beginning", false, 30*time.Second, webhook.BreakerOpen)
}

func TestBreaker_Hold(t *testing.T) {
	t.Parallel()
	var b webhook.Breaker
	b.Hold(start.Add(time.Minute), start)
	b.Hold(start.Add(time.Second), start) // a shorter wish does not undo a longer one
	if ok, at := b.Allow(start); ok || !at.Equal(start.Add(time.Minute)) {
		t.Errorf("held for a minute: %t, %s", ok, at)
	}
	if ok, _ := b.Allow(start.Add(time.Minute)); !ok {
		t.Error("still held after the minute")
	}
	b.Hold(start.Add(24*time.Hour), start)
	if _, at := b.Allow(start); !at.Equal(start.Add(5 * time.Minute)) {
		t.Errorf("asked for a day: held until %s", at)
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 7, 10, 100, 1000} {
		l := webhook.NewLimiter(rate)
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
	l := webhook.NewLimiter(10)
	l.Allow(start)
	later, burst := start.Add(time.Hour), 0 // an idle hour saves nothing up
	for ok := true; ok; ok, _ = l.Allow(later) {
		burst++
	}
	if burst-1 != 1 {
		t.Errorf("%d at once after an idle hour, want 1", burst-1)
	}
}

func TestLanes(t *testing.T) {
	t.Parallel()
	l := webhook.NewLanes(2, 3, 5)
	take := func(company, endpoint string, want bool) {
		t.Helper()
		if got := l.TryAcquire(company, endpoint); got != want {
			t.Errorf("%s/%s: %t, want %t", company, endpoint, got, want)
		}
	}
	take("a", "x", true)
	take("a", "x", true)
	take("a", "x", false) // the endpoint is full
	take("a", "y", true)
	take("a", "z", false) // the company is full
	take("b", "x", true)  // another company's endpoint of the same name is another
	take("b", "x", true)
	take("c", "x", false) // all slots are taken
	if n := l.InFlight(); n != 5 {
		t.Errorf("%d in flight", n)
	}
	l.Release("a", "y")
	take("c", "x", true)
	for _, r := range [][2]string{{"a", "x"}, {"a", "x"}, {"b", "x"}, {"b", "x"}, {"c", "x"}} {
		l.Release(r[0], r[1])
	}
	if n := l.InFlight(); n != 0 {
		t.Errorf("%d in flight after every release", n)
	}
	take("a", "x", true)
}
