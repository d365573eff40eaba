package goal

import "time"

// Stall says why the work on a goal does not go on; "" if it does, or if no memory refers to the goal.
type Stall string

// The reasons.
const (
	Blocked Stall = "blocked" // an item of the work is blocked
	Stale   Stall = "stale"   // no item has changed for StaleAfter, and some are open
)

// StaleAfter sets after how long without a change open work is stale.
const StaleAfter = 14 * 24 * time.Hour

// stalledScore limits the score of a goal whose work is stalled: it is drifting at best.
const stalledScore = 0.7

func (s Stall) reason() string {
	if s == Blocked {
		return "an item of its work is blocked"
	}
	return "no item of its open work has changed for 14 days"
}

// hold returns the alignment of an open goal whose work is stalled.
func (s Stall) hold(a Alignment) Alignment {
	if s == "" || a.Status != Aligned {
		return a
	}
	a.Score, a.Status = min(a.Score, stalledScore), Drifting
	a.Reasons = append([]string{s.reason()}, a.Reasons...)
	return a
}

// Work counts the memories that refer to a goal, and says when one of them last changed.
type Work struct {
	Open      int       `json:"open" doc:"items to do" format:"int32"`
	Blocked   int       `json:"blocked" doc:"items that wait for something else" format:"int32"`
	Done      int       `json:"done" doc:"items that are done" format:"int32"`
	ChangedAt time.Time `json:"changedAt" doc:"when an item was last added, changed or removed"`
}

// Stalled says whether the work is stalled as of now.
func (w Work) Stalled(now time.Time) Stall {
	switch {
	case w.Blocked > 0:
		return Blocked
	case w.Open > 0 && !now.Before(w.StaleAt()):
		return Stale
	}
	return ""
}

// StaleAt returns when the work becomes stale unless an item changes.
func (w Work) StaleAt() time.Time { return w.ChangedAt.Add(StaleAfter) }
