package delivery

import (
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// RecoveryEntity and RecoveryPrefix name the entity of a recovery's item and the prefix of its key.
const (
	RecoveryEntity = "recovery"
	RecoveryPrefix = "RECOVERY#"
)

// RecoveryState says whether a recovery has finished.
type RecoveryState string

// The states of a recovery.
const (
	RecoveryRequested RecoveryState = "requested"
	RecoveryFinished  RecoveryState = "finished"
)

// Recovery asks the service to send the undelivered events of a time window again. It has the same form in the store and in
// the API.
type Recovery struct {
	ID          string        `json:"id" doc:"UUIDv7" format:"uuid"`
	Provider    string        `json:"provider" doc:"the webhook integration whose deliveries the recovery sends" example:"webhook"`
	Since       time.Time     `json:"since" doc:"start of the window: events from this time on"`
	Until       time.Time     `json:"until" doc:"end of the window: events up to this time"`
	Only        State         `json:"only,omitempty" doc:"dead: the recovery sends dead letters alone; held: deliveries that were held because the company was suspended; waiting: deliveries that waited for the end of a pause; absent: it sends every delivery of the window that was not delivered" enum:"dead,held,waiting"`
	DueBy       *time.Time    `json:"dueBy,omitempty" doc:"the recovery also sends deliveries that wait for an attempt due by this time, because the endpoint is or was paused"`
	State       RecoveryState `json:"state" doc:"finished when every delivery of the window was sent again or is in the queue" enum:"requested,finished"`
	Recovered   int           `json:"recovered" doc:"number of deliveries that the recovery has sent again or put into the queue so far" format:"int32"`
	RequestedBy string        `json:"requestedBy,omitempty" doc:"the user who requested the recovery" format:"uuid"`
	RequestedAt time.Time     `json:"requestedAt" doc:"when the recovery was requested"`
	FinishedAt  *time.Time    `json:"finishedAt,omitempty" doc:"when the recovery finished"`
}

// StoredRecovery adds to a recovery the key of the last delivery that it has handled. The other members belong to an ordered endpoint:
// its deliveries go into the queue in portions, as fast as the endpoint drains them.
type StoredRecovery struct {
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
func (r *StoredRecovery) Ask(t time.Time) {
	r.Turn++
	r.Due = t.UTC().Truncate(time.Millisecond)
}

// Finish ends the recovery.
func (r *StoredRecovery) Finish(now time.Time) {
	now = now.UTC()
	r.State, r.FinishedAt = RecoveryFinished, &now
}

// Overdue reports whether the recovery should have gone on long ago.
func (r StoredRecovery) Overdue(now time.Time) bool {
	due := r.Due
	if due.IsZero() {
		due = r.RequestedAt
	}
	return r.State != RecoveryFinished && now.Sub(due) > OverdueAfter
}

// RecoveryKey returns the sort key of a recovery.
func RecoveryKey(recoveryID string) string { return RecoveryPrefix + recoveryID }

// Save returns the write of the recovery. version is that of the record that it replaces; 0: none.
func (r StoredRecovery) Save(c store.Company, version int64) store.Op {
	return c.Save(RecoveryKey(r.ID), RecoveryEntity, version, r).Until(r.RequestedAt.Add(Kept))
}

// Request returns the write that requests the recovery of the deliveries to one incarnation of its endpoint.
func (r Recovery) Request(c store.Company, incarnation string) store.Op {
	return StoredRecovery{Recovery: r, Incarnation: incarnation}.Save(c, 0)
}

// Window returns the query for the deliveries of the recovery's window, to every endpoint.
func (r Recovery) Window() store.Query {
	return store.Query{Prefix: Prefix, From: Prefix + id.First(r.Since), To: Prefix + id.Last(r.Until) + "~"}
}

// Includes reports whether the recovery sends a delivery again.
func (r StoredRecovery) Includes(d Delivery, now time.Time) bool {
	switch {
	case d.Incarnation != r.Incarnation:
		return false
	case r.Only == "":
	case r.Only == Waiting:
		return d.waits(r.DueBy)
	case r.Only == Held:
		return d.State == Held && d.HeldBecause == HeldSuspended
	default:
		return d.State == r.Only
	}
	return d.Recoverable() || d.Overdue(now) || d.waits(r.DueBy)
}

// ClampWindow returns the window of a request. It moves the start to the age at which deliveries expire, and the end to now,
// if the request exceeds them. A nil until means now.
func ClampWindow(from time.Time, to *time.Time, now time.Time) (since, until time.Time, err error) {
	if from.After(now) {
		return since, until, fault.Refuse([]fault.FieldError{{Pointer: "/since", Detail: "must not be in the future"}})
	}
	if to != nil && to.Before(from) {
		return since, until, fault.Refuse([]fault.FieldError{{Pointer: "/until", Detail: "must not be before since"}})
	}
	since, until = from.UTC(), now
	if oldest := now.Add(-Kept); since.Before(oldest) {
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

// waits reports whether the delivery waits for an attempt that is due by a time.
func (d Delivery) waits(dueBy *time.Time) bool {
	return dueBy != nil && d.Open() && d.NextAttemptAt != nil && !d.NextAttemptAt.After(*dueBy)
}
