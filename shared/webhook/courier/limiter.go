package courier

import (
	"sync"
	"time"
)

// Limiter limits the rate of attempts to one endpoint with the generic cell rate algorithm (ATM's GCRA). It spaces attempts
// evenly and allows bursts of as many attempts as a tenth of a second has. It is safe for concurrent use.
type Limiter struct {
	mu       sync.Mutex
	interval time.Duration
	burst    time.Duration
	due      time.Time // when the next attempt is due at even spacing
}

// NewLimiter makes a limiter of perSecond attempts, at least 1.
func NewLimiter(perSecond int) *Limiter {
	perSecond = max(perSecond, 1)
	return &Limiter{interval: interval(perSecond), burst: burst(perSecond)}
}

func interval(perSecond int) time.Duration { return time.Second / time.Duration(perSecond) }

// burst returns how long before its time an attempt may begin.
func burst(perSecond int) time.Duration {
	return interval(perSecond) * time.Duration(max(perSecond/10, 1)-1)
}

// Allow takes a token for one attempt. If no token is free, retryAt says when there will be one.
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
