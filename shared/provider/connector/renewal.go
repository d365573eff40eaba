package connector

import "time"

// Renewal returns when a rate limit counts as renewed that a provider renews at a time. A time that is not after now becomes a
// wait from now on, and no wait is longer than most.
func Renewal(at, now time.Time, wait, most time.Duration) time.Time {
	switch {
	case !at.After(now):
		return now.Add(wait)
	case at.After(now.Add(most)):
		return now.Add(most)
	}
	return at.UTC()
}
