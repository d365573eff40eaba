package delivery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Transition holds what a committed change did to a delivery. It decodes only what decides about the next step, and only once, because a
// delivery carries its payload. The transition of another entity's change, or of a removal, requires nothing.
type Transition struct {
	change  store.Change
	was, is stage // the zero stage before the delivery was created
	err     error // the delivery cannot be decoded
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
	if c.New == nil || c.Entity != Entity {
		return t
	}
	err := DecodeHead(c.New.Body, &t.is)
	settled := t.is.State != Held && t.is.State != Dead && t.is.NextAttemptAt == nil && t.is.Turned == nil // the stage before does not matter
	if err == nil && c.Old != nil && !settled {
		err = DecodeHead(c.Old.Body, &t.was)
	}
	if err != nil {
		return Transition{change: c, err: fmt.Errorf("decode delivery: %w", err)}
	}
	return t
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

// Due returns the queue message that a committed change requires, when the delivery's generation grows; ok is false when it requires none.
// The message is due at the next attempt. What cannot be decoded is an error.
func (t Transition) Due() (m queue.Message, ok bool, err error) {
	if t.err != nil || t.is.NextAttemptAt == nil || t.is.Generation <= t.was.Generation {
		return queue.Message{}, false, t.err
	}
	c := t.change
	job := Job{Company: c.Company, Delivery: strings.TrimPrefix(c.Key, Prefix), Generation: t.is.Generation, Incarnation: t.is.Incarnation}
	return job.Message(*t.is.NextAttemptAt)
}

// Message returns the job as a message that is due at a time; ok is true, unless there is an error.
func (j Job) Message(due time.Time) (m queue.Message, ok bool, err error) {
	body, err := json.Marshal(j)
	return queue.Message{Body: body, Group: j.Company, Due: due}, err == nil, err
}

// OverdueTimer names the timers that look for deliveries whose queue message was lost. Such a timer covers the deliveries of a
// company whose events lie in one hour and whose attempts are due in one hour, so that many deliveries share one write.
const OverdueTimer = "delivery-overdue"

// OverdueAfter sets how long after its time an attempt counts as overdue. A message comes seconds late at most, unless the
// endpoint has a backlog. A second message of such a delivery does no harm: the first one then has no effect.
const OverdueAfter = 15 * time.Minute

// Overdue reports whether the delivery waits for an attempt that should have been made long ago.
func (d Delivery) Overdue(now time.Time) bool {
	return d.Open() && d.NextAttemptAt != nil && now.Sub(*d.NextAttemptAt) > OverdueAfter
}

// hourForm is the form of an hour in a timer's subject.
const hourForm = "2006010215"

// Lookout returns the time and the subject of the timer that a committed change requires. ok is false when the change requires none,
// because the delivery does not wait for an attempt. Every attempt due in the same hour has the same timer, which fires when the last
// of them would be overdue.
func (t Transition) Lookout() (at time.Time, subject string, ok bool) {
	if t.is.NextAttemptAt == nil {
		return time.Time{}, "", false
	}
	event, _, _ := strings.Cut(strings.TrimPrefix(t.change.Key, Prefix), "#")
	created, known := id.Time(event)
	if !known {
		return time.Time{}, "", false
	}
	return OverdueAt(*t.is.NextAttemptAt), created.Format(hourForm), true
}

// OverdueAt returns when everything is overdue that is due in the hour of a time.
func OverdueAt(due time.Time) time.Time {
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

// PauseReason says why an endpoint gets no attempts for a while.
type PauseReason string

// The reasons.
const (
	PausedFailing PauseReason = "failing"     // five attempts in a row have failed; then one attempt decides
	PausedAsked   PauseReason = "retry-after" // the endpoint has asked for the wait
)

// Pause tells that an endpoint gets no attempts for a while, although it may receive events.
type Pause struct {
	Reason PauseReason `json:"reason" enum:"failing,retry-after" doc:"failing: five attempts in a row failed, and the next one decides; retry-after: the endpoint answered with Retry-After"`
	Since  time.Time   `json:"since" doc:"when the pause began"`
	Until  time.Time   `json:"until" doc:"when the next attempt may be made; resume-integration makes it now"`
}

// Turn tells that an attempt has begun a pause of its endpoint, or has ended a pause that began because attempts failed.
type Turn struct {
	Paused bool      `json:"paused,omitempty"`
	Since  time.Time `json:"since"`          // when the pause began
	Until  time.Time `json:"until,omitzero"` // when the next attempt may be made
}

// PauseSpread is how long after a pause the attempts that have waited for it are due at the latest: they do not all come at once.
const PauseSpread = 35 * time.Second
