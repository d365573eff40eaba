package projection

import "time"

// at returns the time that p points to, in UTC, or the zero time for nil.
func at(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.UTC()
}
