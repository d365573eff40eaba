// Package breaker blocks attempts to an endpoint that keeps failing, or that has asked for a wait. A Circuit is a value without a clock or a
// lock: its owner keeps it, and tells it the time.
package breaker

import (
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/webhook/post"
)

// When a breaker opens, and for how long.
const (
	After        = 5 // consecutive unhealthy results
	firstOpen    = 30 * time.Second
	longestOpen  = 5 * time.Minute
	probeExpires = 30 * time.Second // longer than an attempt may take
)

// State says which attempts a circuit allows.
type State string

// The states.
const (
	Closed   State = "closed"    // all attempts
	Open     State = "open"      // no attempts
	HalfOpen State = "half-open" // one probe, whose result decides
)

// Circuit blocks attempts to an endpoint that keeps failing, so that a hanging endpoint holds no slots. It opens after
// five consecutive unhealthy results, for 30 s. Each failed probe doubles that, up to 5 minutes. The zero circuit is closed.
type Circuit struct {
	Failures   int           `json:"failures,omitempty"` // consecutive, while closed
	Open       time.Duration `json:"open,omitempty"`     // for how long it opened last; 0: closed
	OpenUntil  time.Time     `json:"openUntil,omitzero"`
	ProbeUntil time.Time     `json:"probeUntil,omitzero"` // when the probe in flight expires
	OpenSince  time.Time     `json:"openSince,omitzero"`  // when it opened, before any failed probe
	HeldUntil  time.Time     `json:"heldUntil,omitzero"`  // the endpoint has asked for a wait
	HeldSince  time.Time     `json:"heldSince,omitzero"`
}

// Allow reports whether an attempt may begin now; if not, retryAt says when to ask again. If the attempt is a probe, Allow
// has noted it.
func (c *Circuit) Allow(now time.Time) (ok, probe bool, retryAt time.Time) {
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

func (c *Circuit) done(healthy bool, now time.Time) {
	switch {
	case healthy:
		c.Failures, c.Open, c.OpenUntil, c.ProbeUntil, c.OpenSince = 0, 0, time.Time{}, time.Time{}, time.Time{}
		return
	case c.Open > 0 && c.ProbeUntil.IsZero(): // the attempt began before the circuit opened
		return
	case c.Open > 0:
		c.Open = min(2*c.Open, longestOpen)
	default:
		if c.Failures++; c.Failures < After {
			return
		}
		c.Open, c.OpenSince = firstOpen, now
	}
	c.OpenUntil, c.ProbeUntil = now.Add(c.Open), time.Time{}
}

// Record applies the result of an attempt. If the endpoint asks for a wait, all attempts are blocked until then.
func (c *Circuit) Record(o post.Result, now time.Time) {
	c.done(o.Healthy(), now)
	if !o.Asked() || !o.RetryAt.After(c.HeldUntil) {
		return
	}
	if !now.Before(c.HeldUntil) {
		c.HeldSince = now
	}
	c.HeldUntil = o.RetryAt
}

// Turned returns what results made of a circuit that was another one before: nil if it did not open and did not close.
func (c Circuit) Turned(was Circuit) *delivery.Turn {
	switch {
	case was.Open == 0 && c.Open > 0:
		return &delivery.Turn{Paused: true, Since: c.OpenSince, Until: c.OpenUntil}
	case was.Open > 0 && c.Open == 0:
		return &delivery.Turn{Since: was.OpenSince}
	}
	return nil
}

// State returns the state as of now.
func (c Circuit) State(now time.Time) State {
	_, paused := c.Pause(now)
	switch {
	case paused:
		return Open
	case c.Open > 0:
		return HalfOpen
	}
	return Closed
}

// Pause returns why the circuit allows no attempts now; ok is false if it does.
func (c Circuit) Pause(now time.Time) (p delivery.Pause, ok bool) {
	held, open := now.Before(c.HeldUntil), c.Open > 0 && now.Before(c.OpenUntil)
	switch {
	case held && (!open || !c.OpenUntil.After(c.HeldUntil)):
		return delivery.Pause{Reason: delivery.PausedAsked, Since: c.HeldSince, Until: c.HeldUntil}, true
	case open:
		return delivery.Pause{Reason: delivery.PausedFailing, Since: c.OpenSince, Until: c.OpenUntil}, true
	}
	return delivery.Pause{}, false
}

// Resume ends a pause. If attempts have failed, the next one decides.
func (c *Circuit) Resume(now time.Time) {
	c.HeldUntil, c.HeldSince = time.Time{}, time.Time{}
	if c.Open > 0 {
		c.OpenUntil, c.ProbeUntil = now, time.Time{}
	}
}
