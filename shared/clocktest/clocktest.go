// Package clocktest is the time of tests.
package clocktest

import (
	"sync"
	"time"
)

// Clock stands still until it is moved. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// At is a clock at a time.
func At(now time.Time) *Clock { return &Clock{now: now} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set moves the clock to a time.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}
