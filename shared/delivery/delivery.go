// Package delivery is the attempt log: one item for each event and endpoint, with what became of it. It is also the
// state that retries work from, so nothing about a delivery lives only in a queue.
package delivery

import (
	"encoding/json"
	"strings"
	"time"
)

// Entity and Prefix are the item's entity and the prefix of its key.
const (
	Entity = "delivery"
	Prefix = "DELIVERY#"
)

// Kept is how long a delivery is kept, counted from its event.
const Kept = 30 * 24 * time.Hour

// State is what became of a delivery or of one attempt.
type State string

// The states. An attempt is delivered or failed; a delivery may be any.
const (
	Delivered State = "delivered" // the endpoint answered 2xx
	Scheduled State = "scheduled" // an attempt is due at NextAttemptAt
	Held      State = "held"      // its endpoint is sandboxed or disabled; recover sends it
	Failed    State = "failed"    // the endpoint refused it for good (410)
	Dead      State = "dead"      // every attempt of the schedule failed: a dead letter
)

// Attempt is one try.
type Attempt struct {
	Number    int       `json:"attempt" doc:"1 is the first"`
	State     State     `json:"state" enum:"delivered,failed"`
	At        time.Time `json:"at"`
	Status    int       `json:"status,omitempty" doc:"HTTP status, when there was an answer"`
	LatencyMS int64     `json:"latencyMs,omitempty"`
	Error     string    `json:"error,omitempty" doc:"why there was no answer, or why it does not count"`
	Excerpt   string    `json:"responseExcerpt,omitempty" doc:"at most 1 kB of the answer's body"`
}

// MaxAttempts is how many attempts the log of one delivery keeps, newest last.
const MaxAttempts = 25

// Delivery is one event on its way to one endpoint, as stored.
type Delivery struct {
	EventID       string          `json:"eventId"`
	Endpoint      string          `json:"endpoint"` // the provider name of the webhook integration
	Event         string          `json:"event"`    // the event's name
	State         State           `json:"state"`
	Payload       json.RawMessage `json:"payload"` // what is sent, byte for byte
	Attempts      []Attempt       `json:"attempts,omitempty"`
	Made          int             `json:"made"`               // attempts since it was last requested
	Requests      int             `json:"requests,omitempty"` // how often it was put into the queue; the dispatcher queues when it grows
	NextAttemptAt *time.Time      `json:"nextAttemptAt,omitempty"`
	HeldBecause   string          `json:"heldBecause,omitempty"`
	CreatedAt     time.Time       `json:"createdAt"` // the event's time
}

// Key is the sort key of an event's delivery to an endpoint. Deliveries sort by the time of their events.
func Key(eventID, endpoint string) string { return Prefix + eventID + "#" + endpoint }

// EndpointOf is the endpoint in a delivery's key.
func EndpointOf(key string) string {
	_, endpoint, _ := strings.Cut(strings.TrimPrefix(key, Prefix), "#")
	return endpoint
}

// Open reports whether the delivery still waits to be attempted.
func (d Delivery) Open() bool { return d.State == Scheduled }

// Recoverable reports whether a recovery sends the delivery again.
func (d Delivery) Recoverable() bool { return d.State == Failed || d.State == Dead || d.State == Held }

// Record adds an attempt to the log, forgetting the oldest past MaxAttempts.
func (d *Delivery) Record(a Attempt) {
	d.Made++
	d.Attempts = append(d.Attempts, a)
	if n := len(d.Attempts) - MaxAttempts; n > 0 {
		d.Attempts = d.Attempts[n:]
	}
}

// Last is the newest attempt; ok is false when there was none.
func (d Delivery) Last() (a Attempt, ok bool) {
	if len(d.Attempts) == 0 {
		return Attempt{}, false
	}
	return d.Attempts[len(d.Attempts)-1], true
}

// Schedule makes the delivery due at t. With requeue a new queue message is asked for; without, the one that is being
// worked on is put off.
func (d *Delivery) Schedule(t time.Time, requeue bool) {
	t = t.UTC()
	d.State, d.NextAttemptAt, d.HeldBecause = Scheduled, &t, ""
	if requeue {
		d.Requests++
	}
}

// Request starts the schedule over, now: what retry and recover do.
func (d *Delivery) Request(now time.Time) {
	d.Made = 0
	d.Schedule(now, true)
}

// Hold keeps the delivery until it is recovered.
func (d *Delivery) Hold(because string) {
	d.End(Held)
	d.HeldBecause = because
}

// End sets a state in which nothing more is due.
func (d *Delivery) End(s State) { d.State, d.NextAttemptAt = s, nil }

// Job is the queue message that has a delivery attempted or a recovery worked on. Exactly one of the two is named.
type Job struct {
	Company  string `json:"company"`
	Delivery string `json:"delivery,omitempty"` // its key without Prefix
	Request  int    `json:"request,omitempty"`  // the delivery's Requests; a message of an earlier request is void
	Recovery string `json:"recovery,omitempty"`
}
