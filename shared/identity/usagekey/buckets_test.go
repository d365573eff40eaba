package usagekey_test

import (
	"testing"
	"time"

	"orgops/shared/identity/usagekey"
)

func TestBuckets_Take(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 8, 0, 0, 0, time.UTC)
	b, free := usagekey.NewBuckets(func() time.Time { return now }), usagekey.Tiers()["free"]
	take := func(company, plan string, n int) (limit string, wait time.Duration) {
		for range n {
			limit, wait = b.Take(company, plan, "")
		}
		return limit, wait
	}
	expect := func(what, limit string, wait time.Duration, wantLimit string, wantWait time.Duration) {
		t.Helper()
		if limit != wantLimit {
			t.Errorf("%s: limit %q, want %q", what, limit, wantLimit)
		}
		if wait != wantWait {
			t.Errorf("%s: wait %v, want %v", what, wait, wantWait)
		}
	}
	limit, wait := take("a", "free", free.Burst)
	expect("a burst", limit, wait, "", 0)
	limit, wait = take("a", "free", 1)
	expect("after the burst", limit, wait, "second", time.Second)
	limit, wait = take("b", "free", 1)
	expect("another company", limit, wait, "", 0)
	limit, wait = take("a", "pro", 10_000)
	expect("a plan whose requests the gateway counts", limit, wait, "", 0)
	now = now.Add(time.Second)
	limit, wait = take("a", "free", free.Rate)
	expect("a second later", limit, wait, "", 0)
	limit, wait = take("a", "free", 1)
	expect("after that second's requests", limit, wait, "second", time.Second)
	for used := free.Burst + free.Rate; used < free.Day; used += free.Rate {
		now = now.Add(time.Second)
		take("a", "free", free.Rate)
	}
	now = now.Add(time.Second)
	limit, wait = take("a", "free", 1)
	expect("after the day's requests", limit, wait, "day", now.UTC().Truncate(24*time.Hour).Add(24*time.Hour).Sub(now))
	now = now.Add(24 * time.Hour)
	limit, wait = take("a", "free", 1)
	expect("the next day", limit, wait, "", 0)
}

// TestBuckets_Bounded checks that strangers' companies do not grow the process: it forgets counts, and goes on counting.
func TestBuckets_Bounded(t *testing.T) {
	t.Parallel()
	b := usagekey.NewBuckets(time.Now)
	for range 30 {
		b.Take("a", "free", "")
	}
	for n := range 10_000 {
		b.Take(string(rune('b'+n)), "free", "")
	}
	if limit, _ := b.Take("a", "free", ""); limit != "" {
		t.Errorf("limit %q after 10,000 other companies, want none: the counts are forgotten", limit)
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"a", "abcdef1234"} {
		if key := usagekey.Shared(api); len(key) < 20 {
			t.Errorf("key %q of API %s has %d characters, want at least 20", key, api, len(key))
		}
	}
	if usagekey.Shared("abcdef1234") == usagekey.Shared("abcdef1235") {
		t.Error("two APIs share a key, which a region has only once")
	}
}

// TestBuckets_Agent bounds an agent to a half of its company's limits, also where the gateway counts the company's requests. A refused
// request counts for no one, so people and other agents go on.
func TestBuckets_Agent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 8, 0, 0, 0, time.UTC)
	b, pro := usagekey.NewBuckets(func() time.Time { return now }), usagekey.Tiers()["pro"]
	send := func(take func(company, plan, agent string) (string, time.Duration), agent string, n int) (admitted int, last string) {
		for range n {
			limit, wait := take("a", "pro", agent)
			if last = limit; wait == 0 {
				admitted++
			}
		}
		return admitted, last
	}
	for name, take := range map[string]func(company, plan, agent string) (string, time.Duration){"behind the gateway": b.Take, "alone": usagekey.NewBuckets(func() time.Time { return now }).TakeAny} {
		got, limit := send(take, "busy", 2*pro.Burst)
		if got != pro.Burst/2 {
			t.Errorf("%s: %d requests of an agent at once, want %d", name, got, pro.Burst/2)
		}
		if limit != "agent-second" {
			t.Errorf("%s: limit = %q, want agent-second", name, limit)
		}
		if got, limit := send(take, "other", 1); got != 1 {
			t.Errorf("%s: another agent is refused by %q", name, limit)
		}
		if got, limit := send(take, "", pro.Burst/2-1); got != pro.Burst/2-1 {
			t.Errorf("%s: people are refused by %q after %d requests", name, limit, got)
		}
	}
	for used := pro.Burst / 2; used < pro.Day/2; used += pro.Rate / 2 {
		now = now.Add(time.Second)
		send(b.Take, "busy", pro.Rate/2)
	}
	now = now.Add(time.Second)
	if _, limit := send(b.Take, "busy", 1); limit != "agent-day" {
		t.Errorf("after a half of the day's requests limit = %q, want agent-day", limit)
	}
}
