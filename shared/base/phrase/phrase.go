// Package phrase writes counts and durations as people say them.
package phrase

import (
	"fmt"
	"time"
)

// Plural counts a noun: "1 delivery", "2 deliveries".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

const day = 24 * time.Hour

// Span writes a duration in a single unit, rounded down: "2 days", "47 hours", "1 minute".
func Span(d time.Duration) string {
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d < time.Minute:
		return "less than a minute"
	}
	return Plural(int(d/time.Minute), "minute", "minutes")
}
