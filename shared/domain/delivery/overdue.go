package delivery

import (
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// OverdueTimer names the timers that look for deliveries whose queue message was lost. Such a timer covers the deliveries of a
// company whose events lie in one hour and whose attempts are due in one hour, so that many deliveries share one write.
const OverdueTimer = "delivery-overdue"

// RecoveryTimer names the timers that look for a recovery whose queue message was lost. The subject is the recovery's id.
const RecoveryTimer = "recovery-overdue"

// OverdueAfter sets how long after its time an attempt counts as overdue. A message comes seconds late at most, unless the
// endpoint has a backlog. A second message of such a delivery does no harm: the first one then has no effect.
const OverdueAfter = 15 * time.Minute

// Overdue reports whether the delivery waits for an attempt that should have been made long ago.
func (d Delivery) Overdue(now time.Time) bool {
	return d.Open() && d.NextAttemptAt != nil && now.Sub(*d.NextAttemptAt) > OverdueAfter
}

// hourForm is the form of an hour in a timer's subject.
const hourForm = "2006010215"

// Lookout returns the timer that a committed change requires: its time, its kind and its subject. ok is false when the change
// requires none, because the delivery does not wait for an attempt, or the recovery asks for no message. Every attempt due in the
// same hour has the same timer, which fires when the last of them would be overdue, and so have all messages of a recovery.
func (t Transition) Lookout() (at time.Time, kind, subject string, ok bool) {
	if t.turn.asks {
		due := t.turn.Due
		if due.IsZero() {
			due = t.change.At
		}
		return overdueAt(due), RecoveryTimer, strings.TrimPrefix(t.change.Key, RecoveryPrefix), true
	}
	if t.is.NextAttemptAt == nil {
		return time.Time{}, "", "", false
	}
	event, _, _ := strings.Cut(strings.TrimPrefix(t.change.Key, Prefix), "#")
	created, known := id.Time(event)
	if !known {
		return time.Time{}, "", "", false
	}
	return overdueAt(*t.is.NextAttemptAt), OverdueTimer, created.Format(hourForm), true
}

// overdueAt returns when everything is overdue that is due in the hour of a time.
func overdueAt(due time.Time) time.Time {
	return due.UTC().Truncate(time.Hour).Add(time.Hour + OverdueAfter + time.Second)
}

// Overlooked returns the query for the deliveries that a timer's subject covers. It returns false for a subject that is not
// Lookout's or Rest's.
func Overlooked(subject string) (q store.Query, ok bool) {
	text, after, _ := strings.Cut(subject, "@")
	hour, err := time.Parse(hourForm, text)
	if err != nil {
		return store.Query{}, false
	}
	return store.Query{
		Prefix: Prefix, From: Prefix + id.First(hour), To: Prefix + id.Last(hour.Add(time.Hour-time.Millisecond)) + "~", After: after,
	}, true
}

// Rest returns the subject of the timer that continues after a delivery's key.
func Rest(subject, after string) string {
	hour, _, _ := strings.Cut(subject, "@")
	return hour + "@" + after
}
