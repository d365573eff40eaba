package syncrun

import (
	"strings"
	"time"

	"orgops/shared/storage/store"
)

// OverdueTimer names the timers that look for a run whose queue message was lost. The subject is the run's id.
const OverdueTimer = "sync-overdue"

// overdueAfter sets how long after its message was due a run counts as lost, if no worker has it.
const overdueAfter = 15 * time.Minute

// Overdue reports whether the run should have gone on long ago, and no worker has it.
func (r StoredRun) Overdue(now time.Time) bool {
	due := r.Work.Due
	if due.IsZero() {
		due = r.RequestedAt
	}
	return !r.State.Ended() && now.Sub(due) > overdueAfter && !r.Work.LeaseUntil.After(now)
}

// Lookout returns the timer that a committed change requires: its time and its subject. ok is false when the change asks for no
// message, or when the schedule looks for the run anyway. All messages of a run that are due in one hour have the same timer.
func Lookout(c store.Change) (at time.Time, subject string, ok bool) {
	is, asks, err := asked(c)
	if err != nil || !asks || is.Watched && is.Work.Turn == 0 {
		return time.Time{}, "", false
	}
	due := is.Work.Due
	if due.IsZero() {
		due = c.At
	}
	return due.UTC().Truncate(time.Hour).Add(time.Hour + overdueAfter + time.Second), strings.TrimPrefix(c.Key, Prefix), true
}
