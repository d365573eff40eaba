package breaker_test

import (
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/webhook/breaker"
	"orgops/shared/webhook/post"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// TestCircuit lets attempts fail until the circuit opens, fails a probe, and lets the next one succeed. What it tells of its turns has the
// time of the first failure that opened it.
func TestCircuit(t *testing.T) {
	t.Parallel()
	var c breaker.Circuit
	now := start
	want := func(step string, ok bool, state breaker.State) {
		t.Helper()
		if got := c.State(now); got != state {
			t.Errorf("%s: %s, want %s", step, got, state)
		}
		if got, _, _ := c.Allow(now); got != ok {
			t.Errorf("%s: an attempt may begin: %t, want %t", step, got, ok)
		}
	}
	for range breaker.After - 1 {
		c.Record(post.Result{}, now)
	}
	want("before the last failure", true, breaker.Closed)
	was := c
	c.Record(post.Result{}, now)
	want("opened", false, breaker.Open)
	if turn := c.Turned(was); turn == nil {
		t.Error("the opening tells nothing, want a pause")
	} else if !turn.Paused {
		t.Errorf("the opening tells %+v, want a pause", turn)
	}
	if p, _ := c.Pause(now); p.Reason != delivery.PausedFailing {
		t.Errorf("paused because of %q, want %q", p.Reason, delivery.PausedFailing)
	}
	now = now.Add(30 * time.Second)
	want("after 30 s", true, breaker.HalfOpen)
	want("with a probe under way", false, breaker.HalfOpen)
	c.Record(post.Result{}, now)
	now = now.Add(59 * time.Second)
	want("after a failed probe", false, breaker.Open)
	c.Resume(now)
	want("resumed", true, breaker.HalfOpen)
	was = c
	c.Record(post.Result{Class: post.Delivered, Status: 204}, now)
	want("after a probe that succeeded", true, breaker.Closed)
	if turn := c.Turned(was); turn == nil {
		t.Error("the closing tells nothing, want the end of a pause")
	} else if !turn.Since.Equal(start) {
		t.Errorf("the closing tells %+v, want a pause since %v", turn, start)
	}
}
