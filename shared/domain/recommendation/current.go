package recommendation

import (
	"strings"
	"time"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// Current holds a recommendation as a decision would store it, with the last decision about it and the version of its item,
// which is 0 if nothing is stored.
type Current struct {
	Stored
	Priority Priority // as of now
	Ended    bool     // its condition has ended
}

// Decide returns the recommendation as change decides, with the write that stores it. Its commit returns store.ErrConflict
// if another decision was stored since. Decide returns fault.Conflict if the condition has ended.
func (r Current) Decide(c store.Company, change func(Stored) (Stored, error)) (Stored, store.Op, error) {
	if r.Ended {
		return r.Stored, store.Op{}, fault.New(fault.Conflict, "the condition of the recommendation has ended; nothing is left to decide")
	}
	next, err := change(r.Stored)
	if err != nil {
		return r.Stored, store.Op{}, err
	}
	next.Priority, next.Version = r.Priority, 0 // the version is that of the item
	op := c.Save(Key(next.ID), Entity, r.Version, next)
	next.Version = r.Version + 1
	return next, op, nil
}

// Dismissal says why a recommendation need not be followed for now, and until when.
type Dismissal struct {
	Reason Reason
	Text   string
	Until  *time.Time // nil: for as long as a dismissal may last
}

// Of returns a recommendation, whose condition holds, as dismissed by a user.
func (d Dismissal) Of(s Stored, by string, now time.Time) (Stored, error) {
	until, err := d.end(now)
	if err != nil {
		return s, err
	}
	return s.Dismiss(by, d.Reason, d.Text, until, now), nil
}

// end returns when a dismissal ends. It refuses a text that says nothing, and a time that is past or too late.
func (d Dismissal) end(now time.Time) (time.Time, error) {
	latest := now.Add(MaxDismissal)
	if utf8.RuneCountInString(strings.TrimSpace(d.Text)) < MinText {
		return latest, fault.Refuse([]fault.FieldError{{Pointer: "/text", Detail: "needs at least 10 characters besides space at its ends"}})
	}
	if d.Until == nil {
		return latest, nil
	}
	if !d.Until.After(now) || d.Until.After(latest) {
		return latest, fault.Refuse([]fault.FieldError{{Pointer: "/until", Detail: "must lie in the future, at most 90 days from now"}})
	}
	return *d.Until, nil
}
