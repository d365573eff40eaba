// Package wait sleeps until a time has passed or a context ends, lets work wait for its turn, and compares times.
package wait

import (
	"context"
	"time"
)

// For waits until d has passed and returns true, or returns false once ctx has ended.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
