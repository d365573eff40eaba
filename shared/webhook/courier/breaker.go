package courier

import (
	"sync"
	"time"
)

// When a breaker opens, and for how long.
const (
	breakAfter   = 5 // consecutive unhealthy outcomes
	firstOpen    = 30 * time.Second
	longestOpen  = 5 * time.Minute
	probeExpires = 30 * time.Second // longer than an attempt may take
)

// BreakerState says which attempts a breaker allows.
type BreakerState string

// The states.
const (
	BreakerClosed   BreakerState = "closed"    // all attempts
	BreakerOpen     BreakerState = "open"      // no attempts
	BreakerHalfOpen BreakerState = "half-open" // one probe, whose outcome decides
)

// Breaker blocks attempts to an endpoint that keeps failing, so that a hanging endpoint holds no slots. It opens after five
// consecutive unhealthy outcomes, for 30 s. Each failed probe doubles that, up to 5 minutes. The zero Breaker is closed. A
// Breaker is safe for concurrent use.
type Breaker struct {
	mu         sync.Mutex
	failures   int // consecutive
	open       time.Duration
	openUntil  time.Time
	probeUntil time.Time // when the probe in flight expires
	heldUntil  time.Time
}

// Allow reports whether the caller may make an attempt now; if not, retryAt says when to ask again. After the attempt, the
// caller reports the outcome with Done. Call Allow last, when the attempt has its slot and rate-limit token, because it may
// consume the probe.
func (b *Breaker) Allow(now time.Time) (ok bool, retryAt time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Before(b.heldUntil) {
		return false, b.heldUntil
	}
	if b.open == 0 {
		return true, time.Time{}
	}
	if now.Before(b.openUntil) {
		return false, b.openUntil
	}
	if now.Before(b.probeUntil) {
		return false, b.probeUntil
	}
	b.probeUntil = now.Add(probeExpires)
	return true, time.Time{}
}

// Done records an outcome (Outcome.Healthy). opened reports that this outcome opened the breaker. Do not report an aborted
// attempt; if it was the probe, the probe expires.
func (b *Breaker) Done(healthy bool, now time.Time) (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if healthy {
		b.failures, b.open, b.openUntil, b.probeUntil = 0, 0, time.Time{}, time.Time{}
		return false
	}
	b.failures++
	switch {
	case b.open == 0 && b.failures >= breakAfter:
		b.open, opened = firstOpen, true
	case b.open > 0 && !b.probeUntil.IsZero():
		b.open = min(2*b.open, longestOpen)
	default: // too few failures, or an attempt that began before the breaker opened
		return false
	}
	b.openUntil, b.probeUntil = now.Add(b.open), time.Time{}
	return opened
}

// Hold blocks all attempts until a time that the endpoint asked for (Outcome.RetryAfter of a Throttled outcome). It blocks
// them for at most five minutes, so that one answer does not stop an endpoint for a day.
func (b *Breaker) Hold(until, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if latest := now.Add(longestOpen); until.After(latest) {
		until = latest
	}
	if until.After(b.heldUntil) {
		b.heldUntil = until
	}
}

// State returns the breaker's state as of now.
func (b *Breaker) State(now time.Time) BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case now.Before(b.heldUntil), b.open > 0 && now.Before(b.openUntil):
		return BreakerOpen
	case b.open > 0:
		return BreakerHalfOpen
	}
	return BreakerClosed
}
