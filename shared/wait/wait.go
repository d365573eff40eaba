// Package wait waits for a time to pass, and no longer than somebody is interested.
package wait

import (
	"context"
	"time"
)

// For waits until d has passed; false says that ctx ended first, or had ended.
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
