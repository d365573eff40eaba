package delivery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/id"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Transition holds what a committed change did to a delivery or a recovery. It decodes only what decides about the next step, and
// only once, because a delivery carries its payload. The transition of another entity's change, or of a removal, requires nothing.
type Transition struct {
	change  store.Change
	was, is stage // the zero stage before the delivery was created
	turn    turn  // of a recovery
	err     error // the delivery or the recovery cannot be decoded
}

// turn holds the fields of a recovery that decide about its message.
type turn struct {
	Turn int       `json:"turn"`
	Due  time.Time `json:"due"`
	asks bool      // the change requires the message
}

// stage holds the fields of a delivery that decide about its next step.
type stage struct {
	State         State      `json:"state"`
	HeldBecause   string     `json:"heldBecause"`
	Generation    int        `json:"generation"`
	Incarnation   string     `json:"incarnation"`
	NextAttemptAt *time.Time `json:"nextAttemptAt"`
	Turned        *Turn      `json:"turned"`
}

// TransitionOf decodes a change. Due returns the error of what cannot be decoded.
func TransitionOf(c store.Change) Transition {
	t := Transition{change: c}
	switch {
	case c.New == nil:
	case c.Entity == RecoveryEntity:
		var was turn
		t.decode(fastjson.Unmarshal, c.New, &t.turn)
		t.decode(fastjson.Unmarshal, c.Old, &was)
		t.turn.asks = t.err == nil && (c.Old == nil || t.turn.Turn > was.Turn)
	case c.Entity == Entity:
		t.decode(DecodeHead, c.New, &t.is)
		if t.is.State == Held || t.is.State == Dead || t.is.NextAttemptAt != nil || t.is.Turned != nil { // else the stage before does not matter
			t.decode(DecodeHead, c.Old, &t.was)
		}
	}
	return t
}

func (t *Transition) decode(by func([]byte, any) error, image *store.Image, v any) {
	if image == nil || t.err != nil {
		return
	}
	if err := by(image.Body, v); err != nil {
		*t = Transition{change: t.change, err: fmt.Errorf("decode %s: %w", t.change.Entity, err)}
	}
}

// BecameHeld reports whether the change holds the delivery because of its endpoint's state, which may be another one by now.
func (t Transition) BecameHeld() bool {
	if t.err != nil || t.is.State != Held || slices.Contains([]string{HeldLine, HeldFilter, HeldTransform}, t.is.HeldBecause) {
		return false
	}
	return t.was.State != Held || t.was.HeldBecause != t.is.HeldBecause || t.was.Generation != t.is.Generation
}

// BecameDead reports whether the change tells that the last attempt of the delivery has failed.
func (t Transition) BecameDead() bool {
	return t.err == nil && t.is.State == Dead && t.was.State != Dead
}

// Turned returns what the change tells of the endpoint's pause; nil if nothing.
func (t Transition) Turned() *Turn {
	if t.err != nil || t.is.Turned == nil || t.was.Turned != nil && *t.was.Turned == *t.is.Turned {
		return nil
	}
	return t.is.Turned
}

// Unselected reports whether the change creates a delivery that is held because a filter or a transformation failed.
func (t Transition) Unselected() bool {
	return t.err == nil && t.change.Old == nil && t.is.State == Held && (t.is.HeldBecause == HeldFilter || t.is.HeldBecause == HeldTransform)
}

// Tells reports whether the change causes an event. The changes of most deliveries cause none.
func (t Transition) Tells() bool { return t.BecameDead() || t.Turned() != nil }

// Job asks the retrier to attempt a delivery or to work on a recovery. It names exactly one of the two.
type Job struct {
	Company     string `json:"company"`
	Delivery    string `json:"delivery,omitempty"`    // its key without Prefix
	Incarnation string `json:"incarnation,omitempty"` // of the delivery
	Generation  int    `json:"generation,omitempty"`  // of the delivery; a message of an earlier generation has no effect
	Recovery    string `json:"recovery,omitempty"`
	Turn        int    `json:"turn,omitempty"` // of the recovery; a message of an earlier turn has no effect
}

// Due returns the queue message that a committed change requires; ok is false when it requires none. A delivery requires a
// message when its generation grows; the message is due at the next attempt. A recovery requires a message when it is
// created, and when its turn grows. What cannot be decoded is an error.
func (t Transition) Due() (m queue.Message, ok bool, err error) {
	c := t.change
	switch {
	case t.err != nil:
		return queue.Message{}, false, t.err
	case c.Entity == Entity && t.is.NextAttemptAt != nil && t.is.Generation > t.was.Generation:
		job := Job{Company: c.Company, Delivery: strings.TrimPrefix(c.Key, Prefix), Generation: t.is.Generation, Incarnation: t.is.Incarnation}
		return message(job, *t.is.NextAttemptAt)
	case t.turn.asks:
		return message(Job{Company: c.Company, Recovery: strings.TrimPrefix(c.Key, RecoveryPrefix), Turn: t.turn.Turn}, t.turn.Due)
	}
	return queue.Message{}, false, nil
}

func message(job Job, due time.Time) (queue.Message, bool, error) {
	body, err := json.Marshal(job)
	return queue.Message{Body: body, Group: job.Company, Due: due}, err == nil, err
}

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
