// Package delivery keeps the log of attempts: one item for each event and endpoint, with its outcome. Retries work from
// this item, so no state of a delivery lives only in a queue.
package delivery

import (
	"encoding/json"
	"strings"
	"time"
)

// Entity and Prefix name the entity of a delivery's item and the prefix of its key.
const (
	Entity = "delivery"
	Prefix = "DELIVERY#"
)

// Kept limits how long a delivery is kept, counted from its event. One whose latest or next attempt is recent is kept for
// keptAfterAttempt longer, so that a recovery on the last day can make all of its attempts.
const (
	Kept             = 30 * 24 * time.Hour
	keptAfterAttempt = 7 * 24 * time.Hour
)

// State says what became of a delivery or of one attempt.
type State string

// The states. An attempt is delivered or failed; a delivery may be any.
const (
	Delivered State = "delivered" // the endpoint answered 2xx
	Scheduled State = "scheduled" // an attempt is due at NextAttemptAt
	Held      State = "held"      // its endpoint is sandboxed or disabled; a recovery sends it
	Failed    State = "failed"    // the endpoint refused it for good (410)
	Dead      State = "dead"      // every attempt of the schedule failed: a dead letter
)

// Attempt records one try to deliver.
type Attempt struct {
	Number    int       `json:"attempt" doc:"1 is the first" format:"int32"`
	State     State     `json:"state" doc:"whether the endpoint answered 2xx" enum:"delivered,failed"`
	At        time.Time `json:"at" doc:"when it was made"`
	Status    int       `json:"status,omitempty" doc:"HTTP status, when there was an answer" format:"int32"`
	LatencyMS int64     `json:"latencyMs,omitempty" doc:"milliseconds until the answer"`
	Error     string    `json:"error,omitempty" doc:"why there was no answer, or why it does not count"`
	Excerpt   string    `json:"responseExcerpt,omitempty" doc:"at most 1 kB of the answer's body"`
}

// MaxAttempts limits how many attempts the log of one delivery keeps, newest last.
const MaxAttempts = 25

// Delivery tracks one event on its way to one endpoint, as stored.
type Delivery struct {
	EventID       string          `json:"eventId"`
	Endpoint      string          `json:"endpoint"` // the provider name of the webhook integration
	Event         string          `json:"event"`    // the event's name
	State         State           `json:"state"`
	Payload       json.RawMessage `json:"payload"` // what is sent, byte for byte
	Attempts      []Attempt       `json:"attempts,omitempty"`
	Made          int             `json:"made"`                 // attempts since it was created or restarted
	Generation    int             `json:"generation,omitempty"` // how often it was enqueued: see Due
	NextAttemptAt *time.Time      `json:"nextAttemptAt,omitempty"`
	HeldBecause   string          `json:"heldBecause,omitempty"`
	CreatedAt     time.Time       `json:"createdAt"` // the event's time
}

// Key returns the sort key of an event's delivery to an endpoint. Deliveries sort by the times of their events.
func Key(eventID, endpoint string) string { return Prefix + eventID + "#" + endpoint }

// EndpointOf returns the endpoint in a delivery's key.
func EndpointOf(key string) string {
	_, endpoint, _ := strings.Cut(strings.TrimPrefix(key, Prefix), "#")
	return endpoint
}

// Expires returns when the store may drop the delivery. It moves with each attempt: see Kept.
func (d Delivery) Expires() time.Time {
	expires := d.CreatedAt.Add(Kept)
	latest, _ := d.Last()
	for _, attempt := range []*time.Time{&latest.At, d.NextAttemptAt} {
		if attempt != nil && attempt.Add(keptAfterAttempt).After(expires) {
			expires = attempt.Add(keptAfterAttempt)
		}
	}
	return expires
}

// Open reports whether the delivery still waits for an attempt.
func (d Delivery) Open() bool { return d.State == Scheduled }

// Recoverable reports whether a recovery sends the delivery again.
func (d Delivery) Recoverable() bool { return d.State == Failed || d.State == Dead || d.State == Held }

// Log appends an attempt and drops the oldest beyond MaxAttempts.
func (d *Delivery) Log(a Attempt) {
	d.Made++
	d.Attempts = append(d.Attempts, a)
	if n := len(d.Attempts) - MaxAttempts; n > 0 {
		d.Attempts = d.Attempts[n:]
	}
}

// Last returns the newest attempt; ok is false when there was none.
func (d Delivery) Last() (a Attempt, ok bool) {
	if len(d.Attempts) == 0 {
		return Attempt{}, false
	}
	return d.Attempts[len(d.Attempts)-1], true
}

// Enqueue makes the delivery due at t and asks for a new queue message: see Due. Earlier messages become void.
func (d *Delivery) Enqueue(t time.Time) {
	d.Generation++
	d.Postpone(t)
}

// Postpone makes the delivery due at t and keeps its queue message.
func (d *Delivery) Postpone(t time.Time) {
	t = t.UTC()
	d.State, d.NextAttemptAt, d.HeldBecause = Scheduled, &t, ""
}

// Restart starts the schedule again at now, for a retry or a recovery.
func (d *Delivery) Restart(now time.Time) {
	d.Made = 0
	d.Enqueue(now)
}

// Hold keeps the delivery back until a recovery.
func (d *Delivery) Hold(because string) {
	d.End(Held)
	d.HeldBecause = because
}

// End sets a state in which no attempt is due.
func (d *Delivery) End(s State) { d.State, d.NextAttemptAt = s, nil }
