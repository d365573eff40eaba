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

// circuit holds a breaker's state, as the processes that send to an endpoint share it. The zero circuit is closed.
type circuit struct {
	Failures   int           `json:"failures,omitempty"` // consecutive, while closed
	Open       time.Duration `json:"open,omitempty"`     // for how long it opened last; 0: closed
	OpenUntil  time.Time     `json:"openUntil,omitzero"`
	ProbeUntil time.Time     `json:"probeUntil,omitzero"` // when the probe in flight expires
	OpenSince  time.Time     `json:"openSince,omitzero"`  // when it opened, before any failed probe
	HeldUntil  time.Time     `json:"heldUntil,omitzero"`  // the endpoint has asked for a wait
	HeldSince  time.Time     `json:"heldSince,omitzero"`
}

// allow reports whether an attempt may begin now; if not, retryAt says when to ask again. If the attempt is a probe, allow
// has noted it.
func (c *circuit) allow(now time.Time) (ok, probe bool, retryAt time.Time) {
	switch {
	case now.Before(c.HeldUntil):
		return false, false, c.HeldUntil
	case c.Open == 0:
		return true, false, time.Time{}
	case now.Before(c.OpenUntil):
		return false, false, c.OpenUntil
	case now.Before(c.ProbeUntil):
		return false, false, c.ProbeUntil
	}
	c.ProbeUntil = now.Add(probeExpires)
	return true, true, time.Time{}
}

// done records an outcome, and reports whether it opened the circuit.
func (c *circuit) done(healthy bool, now time.Time) (opened bool) {
	switch {
	case healthy:
		c.Failures, c.Open, c.OpenUntil, c.ProbeUntil, c.OpenSince = 0, 0, time.Time{}, time.Time{}, time.Time{}
		return false
	case c.Open > 0 && c.ProbeUntil.IsZero(): // the attempt began before the circuit opened
		return false
	case c.Open > 0:
		c.Open = min(2*c.Open, longestOpen)
	default:
		if c.Failures++; c.Failures < breakAfter {
			return false
		}
		c.Open, c.OpenSince, opened = firstOpen, now, true
	}
	c.OpenUntil, c.ProbeUntil = now.Add(c.Open), time.Time{}
	return opened
}

// hold blocks all attempts until a time.
func (c *circuit) hold(until, now time.Time) {
	if !until.After(c.HeldUntil) {
		return
	}
	if !now.Before(c.HeldUntil) {
		c.HeldSince = now
	}
	c.HeldUntil = until
}

// record applies the outcome of an attempt, and reports whether it opened the circuit.
func (c *circuit) record(o Outcome, now time.Time) (opened bool) {
	opened = c.done(o.Healthy(), now)
	if o.told() {
		c.hold(o.RetryAt, now)
	}
	return opened
}

// state returns the circuit's state as of now.
func (c *circuit) state(now time.Time) BreakerState {
	switch {
	case now.Before(c.HeldUntil), c.Open > 0 && now.Before(c.OpenUntil):
		return BreakerOpen
	case c.Open > 0:
		return BreakerHalfOpen
	}
	return BreakerClosed
}

// Breaker blocks attempts to an endpoint that keeps failing, so that a hanging endpoint holds no slots. It opens after five
// consecutive unhealthy outcomes, for 30 s. Each failed probe doubles that, up to 5 minutes. The zero Breaker is closed. A
// Breaker is safe for concurrent use.
type Breaker struct {
	mu sync.Mutex
	circuit
}

// Allow reports whether the caller may make an attempt now; if not, retryAt says when to ask again. After the attempt, the
// caller records the outcome, unless it aborted the attempt: a probe without an outcome expires. Call Allow last, when the attempt has its slot and rate-limit token, because it may
// consume the probe.
func (b *Breaker) Allow(now time.Time) (ok bool, retryAt time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok, _, retryAt = b.allow(now)
	return ok, retryAt
}

// record applies the outcome of an attempt, and reports whether it opened the breaker.
func (b *Breaker) record(o Outcome, now time.Time) (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.circuit.record(o, now)
}

// leave ends a probe that was not made. An attempt that was allowed while the breaker was closed ends long before a probe begins.
func (b *Breaker) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ProbeUntil = time.Time{}
}

// State returns the breaker's state as of now.
func (b *Breaker) State(now time.Time) BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state(now)
}
