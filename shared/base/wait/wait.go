// Package wait sleeps until a time has passed or a context ends, and lets work wait for its turn.
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
