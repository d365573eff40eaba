package projector

import (
	"maps"
	"time"
)

// A company's context is written at most once a second, after a burst. So a change of a company that rests does not wait, and a busy
// company costs one write a second.
const (
	burst    = 30
	interval = time.Second
	enough   = 2500 // changes of all companies do not wait longer: they hold memory, and places among the changes in flight
)

// allowance holds, by company, when its burst is whole again.
type allowance map[string]time.Time

// forget drops the companies whose burst is whole.
func (p allowance) forget(now time.Time) {
	maps.DeleteFunc(p, func(_ string, whole time.Time) bool { return whole.Before(now) })
}

// wait returns how long a company's changes wait. After 0 they must be folded, because they have used a part of the burst.
func (p allowance) wait(company string, now time.Time) time.Duration {
	whole := p[company]
	if whole.Before(now) {
		whole = now
	}
	if early := whole.Sub(now) - (burst-1)*interval; early > 0 {
		return early
	}
	p[company] = whole.Add(interval)
	return 0
}
