package webhook

import "time"

// maxWait is the schedule's longest wait.
const maxWait = 24 * time.Hour

// jitter is how far a wait may be off the schedule, either way, as a share of it: failures that came together must not
// come back together.
const jitter = 0.2

// waits lists the wait before each attempt. The first is made at once; a delivery is dead once all were made.
func waits() [10]time.Duration {
	return [...]time.Duration{
		0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
		20 * time.Hour, maxWait,
	}
}

// Attempts is how many attempts the schedule has.
const Attempts = 10

// Next is when to try again after the made-th attempt (1 is the first) ended with o: after the schedule's wait ±20 %, or
// the longer wait that the endpoint asked for. ok is false when there is nothing more to try: delivered, gone, or the
// schedule is at its end and the delivery dead. random is from [0, 1).
func Next(made int, o Outcome, now time.Time, random float64) (at time.Time, ok bool) {
	if o.Class == Delivered || o.Class == Gone || made >= Attempts {
		return time.Time{}, false
	}
	wait := waits()[max(made, 0)]
	wait += time.Duration(float64(wait) * jitter * (2*random - 1))
	return now.Add(max(wait, o.RetryAfter)), true
}
