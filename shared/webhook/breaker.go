package webhook

import (
	"sync"
	"time"
)

// What makes a breaker open, and for how long.
const (
	breakAfter   = 5 // unhealthy outcomes in a row
	firstOpen    = 30 * time.Second
	longestOpen  = 5 * time.Minute
	probeExpires = 30 * time.Second // longer than an attempt may take
)

// BreakerState is what a breaker lets through.
type BreakerState string

// The states.
const (
	BreakerClosed   BreakerState = "closed"    // everything
	BreakerOpen     BreakerState = "open"      // nothing
	BreakerHalfOpen BreakerState = "half-open" // one attempt, whose outcome decides
)

// Breaker keeps attempts away from an endpoint that keeps failing, so that they hold no slot while it hangs. It opens
// after five unhealthy outcomes in a row, for 30 s and twice as long each time a probe fails, up to 5 minutes. The zero
// Breaker is closed; it is safe for concurrent use.
type Breaker struct {
	mu         sync.Mutex
	failures   int // in a row
	open       time.Duration
	openUntil  time.Time
	probeUntil time.Time // a probe is under way until then at the latest
	heldUntil  time.Time
}

// Allow reports whether an attempt may be made now; if not, retryAt is when to ask again. Whoever was allowed reports
// the outcome with Done. It is to be asked last, when the attempt has its slot and its turn: it may be the one probe.
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

// Done reports an outcome (Outcome.Healthy); opened is true for the one that opens the breaker. An aborted attempt is not
// reported: its probe, if it was one, expires.
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
	default: // not yet, or an attempt from before it opened
		return false
	}
	b.openUntil, b.probeUntil = now.Add(b.open), time.Time{}
	return opened
}

// Hold lets nothing through until a time that the endpoint asked for (Outcome.RetryAfter of a Throttled one), five
// minutes from now at most: one answer must not stop an endpoint for a day.
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

// State is what the breaker lets through as of now.
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
