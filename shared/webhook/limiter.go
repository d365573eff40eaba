package webhook

import (
	"sync"
	"time"
)

// Limiter keeps attempts to one endpoint under a rate (the generic cell rate algorithm, as in ATM's GCRA): evenly
// spaced, with room for a tenth of a second's worth at once. It is safe for concurrent use.
type Limiter struct {
	mu       sync.Mutex
	interval time.Duration
	burst    time.Duration
	due      time.Time // when the next attempt would be due if all were evenly spaced
}

// NewLimiter is a limiter of perSecond attempts, 1 or more.
func NewLimiter(perSecond int) *Limiter {
	perSecond = max(perSecond, 1)
	interval := time.Second / time.Duration(perSecond)
	return &Limiter{interval: interval, burst: interval * time.Duration(max(perSecond/10, 1)-1)}
}

// Allow takes one attempt if the rate has room for it now; if not, retryAt is when it will.
func (l *Limiter) Allow(now time.Time) (ok bool, retryAt time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due.Before(now) {
		l.due = now
	}
	if at := l.due.Add(-l.burst); at.After(now) {
		return false, at
	}
	l.due = l.due.Add(l.interval)
	return true, time.Time{}
}
