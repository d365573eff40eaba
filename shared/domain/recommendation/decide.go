package recommendation

import (
	"time"

	"orgops/shared/base/fault"
)

// Claim returns a recommendation, whose condition holds, as claimed by a user. A dismissed one must be opened again first.
func (s Stored) Claim(by string, now time.Time) (Stored, error) {
	if s.Now(s.Priority, now) == Dismissed {
		return s, fault.New(fault.Conflict, "the recommendation is dismissed; reopen it first")
	}
	return s.decide(Claimed, by, now), nil
}

// Dismiss returns a recommendation, whose condition holds, as dismissed by a user until a time.
func (s Stored) Dismiss(by string, reason Reason, text string, until, now time.Time) Stored {
	s = s.decide(Dismissed, by, now)
	s.Reason, s.Text, s.Until = reason, text, until.UTC()
	return s
}

// Reopen returns a recommendation, whose condition holds, as active. A user calls for it, or the service (by is "") because
// the condition holds again.
func (s Stored) Reopen(by string, now time.Time) Stored { return s.decide(Active, by, now) }

// End returns a recommendation whose condition has ended.
func (s Stored) End(now time.Time) Stored { return s.decide(Succeeded, "", now) }

func (s Stored) decide(state State, by string, now time.Time) Stored {
	s.Reopened = s.Times()
	s.State, s.By, s.At = state, by, now.UTC()
	s.Until, s.Reason, s.Text = time.Time{}, "", ""
	return s
}

// Expires returns when the store may drop the recommendation: never while its condition may hold.
func (s Stored) Expires() (at time.Time, ok bool) {
	return s.At.Add(Kept), s.State == Succeeded
}
