// Package schedule says when the attempts of a delivery are made.
package schedule

import (
	"time"

	"orgops/shared/webhook/post"
)

// jitter sets the share by which a wait varies in either direction, so that deliveries that fail together are not retried
// together.
const jitter = 0.2

// Attempts is the number of attempts in the schedule.
const Attempts = 10

// waits lists the wait before each attempt. The first attempt is immediate. After the last one, a delivery is dead.
func waits() [Attempts]time.Duration {
	return [...]time.Duration{
		0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
		20 * time.Hour, 24 * time.Hour,
	}
}

// Next returns the time of the retry that follows attempt number made, counted from 1, with outcome o. The retry comes
// after the schedule's wait ±20 %, or after the endpoint's Retry-After if that is longer. ok is false if no retry follows,
// because the outcome is Delivered or Gone or the attempt is the schedule's last. random is from [0, 1).
func Next(made int, o post.Result, now time.Time, random float64) (at time.Time, ok bool) {
	if o.Class == post.Delivered || o.Class == post.Gone || made >= Attempts {
		return time.Time{}, false
	}
	wait := waits()[max(made, 0)]
	wait += time.Duration(float64(wait) * jitter * (2*random - 1))
	return now.Add(max(wait, o.RetryAfter)), true
}
