// Package recovery describes recoveries: a tenant's requests to send the deliveries of a time window again. A worker runs one in turns, each
// of which ends with a record that asks for the next message.
package recovery

import (
	"fmt"
	"strings"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of a recovery's item and the prefix of its key.
const (
	Entity = "recovery"
	Prefix = "RECOVERY#"
)

// State says whether a recovery has finished.
type State string

// The states of a recovery.
const (
	Requested State = "requested"
	Finished  State = "finished"
)

// Recovery asks the service to send the undelivered events of a time window again. It has the same form in the store and in
// the API.
type Recovery struct {
	ID          string         `json:"id" doc:"UUIDv7" format:"uuid"`
	Provider    string         `json:"provider" doc:"the webhook integration whose deliveries the recovery sends" example:"webhook"`
	Since       time.Time      `json:"since" doc:"start of the window: events from this time on"`
	Until       time.Time      `json:"until" doc:"end of the window: events up to this time"`
	Only        delivery.State `json:"only,omitempty" doc:"dead: the recovery sends dead letters alone; held: deliveries that were held because the company was suspended; waiting: deliveries that waited for the end of a pause; absent: it sends every delivery of the window that was not delivered" enum:"dead,held,waiting"`
	DueBy       *time.Time     `json:"dueBy,omitempty" doc:"the recovery also sends deliveries that wait for an attempt due by this time, because the endpoint is or was paused"`
	State       State          `json:"state" doc:"finished when every delivery of the window was sent again or is in the queue" enum:"requested,finished"`
	Recovered   int            `json:"recovered" doc:"number of deliveries that the recovery has sent again or put into the queue so far" format:"int32"`
	RequestedBy string         `json:"requestedBy,omitempty" doc:"the user who requested the recovery" format:"uuid"`
	RequestedAt time.Time      `json:"requestedAt" doc:"when the recovery was requested"`
	FinishedAt  *time.Time     `json:"finishedAt,omitempty" doc:"when the recovery finished"`
}

// Stored adds to a recovery the key of the last delivery that it has handled. The other members belong to an ordered endpoint:
// its deliveries go into the queue in portions, as fast as the endpoint drains them.
type Stored struct {
	Recovery
	Incarnation string `json:"incarnation,omitempty"` // of the endpoint; the recovery sends its deliveries alone

	Turn int       `json:"turn,omitempty"` // number of calls of Ask: see Due
	Due  time.Time `json:"due,omitzero"`   // when the message of the turn is due; zero: at once

	After   string    `json:"after,omitempty"`
	Portion int       `json:"portion,omitempty"` // deliveries that go into the queue at once
	Fed     int       `json:"fed,omitempty"`     // those of the portion that are in the queue
	FedAt   time.Time `json:"fedAt,omitzero"`    // when the last of them went there
	Last    string    `json:"last,omitempty"`    // the key after which the portion's last page began
}

// Ask asks for a queue message that is due at t: see Due. Earlier messages have no effect. Each run of a recovery ends so, until
// it has finished. The message follows from a committed record, so a lost one can be found, and Lambda counts no chain of runs.
func (r *Stored) Ask(t time.Time) {
	r.Turn++
	r.Due = t.UTC().Truncate(time.Millisecond)
}

// Finish ends the recovery.
func (r *Stored) Finish(now time.Time) {
	now = now.UTC()
	r.State, r.FinishedAt = Finished, &now
}

// Overdue reports whether the recovery should have gone on long ago.
func (r Stored) Overdue(now time.Time) bool {
	due := r.Due
	if due.IsZero() {
		due = r.RequestedAt
	}
	return r.State != Finished && now.Sub(due) > delivery.OverdueAfter
}

// Key returns the sort key of a recovery.
func Key(recoveryID string) string { return Prefix + recoveryID }

// Save returns the write of the recovery. version is that of the record that it replaces; 0: none.
func (r Stored) Save(c store.Company, version int64) store.Op {
	return c.Save(Key(r.ID), Entity, version, r).Until(r.RequestedAt.Add(delivery.Kept))
}

// Request returns the write that requests the recovery of the deliveries to one incarnation of its endpoint.
func (r Recovery) Request(c store.Company, incarnation string) store.Op {
	return Stored{Recovery: r, Incarnation: incarnation}.Save(c, 0)
}

// Window returns the query for the deliveries of the recovery's window, to every endpoint.
func (r Recovery) Window() store.Query {
	return store.Query{Prefix: delivery.Prefix, From: delivery.Prefix + id.First(r.Since), To: delivery.Prefix + id.Last(r.Until) + "~"}
}

// Includes reports whether the recovery sends a delivery again.
func (r Stored) Includes(d delivery.Delivery, now time.Time) bool {
	switch {
	case d.Incarnation != r.Incarnation:
		return false
	case r.Only == "":
	case r.Only == delivery.Waiting:
		return waits(d, r.DueBy)
	case r.Only == delivery.Held:
		return d.State == delivery.Held && d.HeldBecause == delivery.HeldSuspended
	default:
		return d.State == r.Only
	}
	return d.Recoverable() || d.Overdue(now) || waits(d, r.DueBy)
}

// Clamp returns the window of a request. It moves the start to the age at which deliveries expire, and the end to now,
// if the request exceeds them. A nil until means now.
func Clamp(from time.Time, to *time.Time, now time.Time) (since, until time.Time, err error) {
	if from.After(now) {
		return since, until, fault.Refuse([]fault.FieldError{{Pointer: "/since", Detail: "must not be in the future"}})
	}
	if to != nil && to.Before(from) {
		return since, until, fault.Refuse([]fault.FieldError{{Pointer: "/until", Detail: "must not be before since"}})
	}
	since, until = from.UTC(), now
	if oldest := now.Add(-delivery.Kept); since.Before(oldest) {
		since = oldest
	}
	if to != nil && to.Before(now) {
		until = to.UTC()
	}
	if until.Before(since) {
		until = since
	}
	return since, until, nil
}

// waits reports whether a delivery waits for an attempt that is due by a time.
func waits(d delivery.Delivery, dueBy *time.Time) bool {
	return dueBy != nil && d.Open() && d.NextAttemptAt != nil && !d.NextAttemptAt.After(*dueBy)
}

// turn holds the fields of a recovery that decide about its message.
type turn struct {
	Turn int       `json:"turn"`
	Due  time.Time `json:"due"`
}

// asked decodes the recovery of a change. asks reports that the change requires a message: it creates the recovery, or its turn grows.
func asked(c store.Change) (is turn, asks bool, err error) {
	if c.Entity != Entity || c.New == nil {
		return turn{}, false, nil
	}
	was := turn{Turn: -1}
	if err = fastjson.Unmarshal(c.New.Body, &is); err == nil && c.Old != nil {
		was.Turn = 0
		err = fastjson.Unmarshal(c.Old.Body, &was)
	}
	if err != nil {
		return turn{}, false, fmt.Errorf("decode recovery: %w", err)
	}
	return is, is.Turn > was.Turn, nil
}

// Due returns the queue message that a committed change requires; ok is false when it requires none.
func Due(c store.Change) (m queue.Message, ok bool, err error) {
	is, asks, err := asked(c)
	if err != nil || !asks {
		return queue.Message{}, false, err
	}
	return delivery.Job{Company: c.Company, Recovery: strings.TrimPrefix(c.Key, Prefix), Turn: is.Turn}.Message(is.Due)
}

// OverdueTimer names the timers that look for a recovery whose queue message was lost. The subject is the recovery's id.
const OverdueTimer = "recovery-overdue"

// Lookout returns the time and the subject of the timer that looks for the recovery of a change, if its message is lost. ok is false when
// the change asks for no message. The messages of a recovery that are due in one hour have one timer.
func Lookout(c store.Change) (at time.Time, subject string, ok bool) {
	is, asks, err := asked(c)
	if err != nil || !asks {
		return time.Time{}, "", false
	}
	due := is.Due
	if due.IsZero() {
		due = c.At
	}
	return delivery.OverdueAt(due), strings.TrimPrefix(c.Key, Prefix), true
}
