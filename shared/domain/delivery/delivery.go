// Package delivery describes the log of deliveries: one item for each event and endpoint, with the attempts and their
// outcome. A retry reads this item, so a queue never holds the only copy of a delivery's state.
package delivery

import (
	"encoding/json"
	"strings"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/storage/store"
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

// State says how far a delivery is, or how one attempt ended.
type State string

// The states. An attempt is Delivered or Failed. A delivery may have any state.
const (
	Delivered State = "delivered" // the endpoint answered 2xx
	Scheduled State = "scheduled" // an attempt is due at NextAttemptAt
	Waiting   State = "waiting"   // an earlier delivery of its line has not ended: see Line
	Held      State = "held"      // its endpoint is sandboxed or disabled; a recovery sends it
	Failed    State = "failed"    // the endpoint refused it for good (410)
	Dead      State = "dead"      // every attempt of the schedule failed; the delivery is a dead letter
)

// Attempt records one try to deliver.
type Attempt struct {
	Number    int       `json:"attempt" doc:"number of the attempt; 1 is the first" format:"int32"`
	State     State     `json:"state" doc:"delivered if the endpoint answered 2xx, otherwise failed" enum:"delivered,failed"`
	At        time.Time `json:"at" doc:"when the attempt was made"`
	Status    int       `json:"status,omitempty" doc:"HTTP status, if the endpoint answered" format:"int32"`
	LatencyMS int64     `json:"latencyMs,omitempty" doc:"milliseconds until the answer"`
	Error     string    `json:"error,omitempty" doc:"why the endpoint did not answer, or why its answer is not a success"`
	Excerpt   string    `json:"responseExcerpt,omitempty" doc:"at most 1 kB of the answer's body"`
}

// MaxAttempts limits how many attempts a delivery keeps, newest last.
const MaxAttempts = 25

// Delivery tracks one event on its way to one endpoint. Its members are stored apart, so that a list and a worker can read the head
// alone. The payload, which is the largest, comes last, because a reader stops at the last member that it needs.
type Delivery struct {
	Head     `json:"head"`
	Attempts []Attempt       `json:"log,omitempty"`
	Payload  json.RawMessage `json:"payload"` // the body of the request, byte for byte
}

// Head holds what is known of a delivery without its payload and its log of attempts. It begins as the payload does, so that both
// pack into few bytes.
type Head struct {
	EventID       string     `json:"id"`
	Event         string     `json:"type"`                  // the event's name
	Version       int        `json:"version,omitempty"`     // of the event's payload, if it has not always had one version
	CreatedAt     time.Time  `json:"timestamp"`             // the event's time
	Incarnation   string     `json:"incarnation,omitempty"` // of the endpoint's integration: the next one of its name does not get the delivery
	Endpoint      string     `json:"endpoint"`              // the provider name of the webhook integration
	Made          int        `json:"made"`                  // attempts since the delivery was created or restarted
	Told          int        `json:"told,omitempty"`        // those of made whose successor came when the endpoint had asked for it
	Generation    int        `json:"generation,omitempty"`  // number of calls of Enqueue: see Due
	State         State      `json:"state"`
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"`
	HeldBecause   string     `json:"heldBecause,omitempty"`
	HeldDetail    string     `json:"heldDetail,omitempty"` // with HeldFilter and HeldTransform
	Whole         bool       `json:"whole,omitempty"`      // the payload is that of the event: the endpoint's filter and transformation follow with the next attempt
	Line          string     `json:"line,omitempty"`       // the key of the record that changed, if the endpoint is ordered: see Line
	Recovery      string     `json:"recovery,omitempty"`   // the recovery that sent it again last
	Turned        *Turn      `json:"turned,omitempty"`     // what the last attempt has made of the endpoint's pause
}

// HeldSuspended is the HeldBecause of a delivery of a suspended company. It is sent when the company is resumed.
const HeldSuspended = "suspended"

// HeldDeleted is the HeldBecause of a delivery whose endpoint was deleted. It is kept for reading only.
const HeldDeleted = "deleted"

// HeldFilter and HeldTransform are why a delivery is held whose endpoint's filter or transformation could not be evaluated, or whose
// filter leaves the event out when the delivery is sent again. Both are evaluated again then.
const (
	HeldFilter    = "filter"
	HeldTransform = "transform"
)

// Key returns the sort key of an event's delivery to an endpoint. Deliveries sort by the times of their events.
func Key(eventID, endpoint string) string { return Prefix + eventID + "#" + endpoint }

// EndpointOf returns the endpoint in a delivery's key.
func EndpointOf(key string) string {
	_, endpoint, _ := strings.Cut(strings.TrimPrefix(key, Prefix), "#")
	return endpoint
}

// Save returns the write of the delivery. version is that of the record that it replaces; 0: none.
func (d Delivery) Save(c store.Company, version int64) store.Op {
	return c.Save(Key(d.EventID, d.Endpoint), Entity, version, d).Until(d.Expires())
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

// Open reports whether an attempt of the delivery is due at NextAttemptAt.
func (d Delivery) Open() bool { return d.State == Scheduled }

// Recoverable reports whether the delivery has ended, and a recovery sends it again. It also sends an Overdue delivery.
func (d Delivery) Recoverable() bool {
	return d.State == Failed || d.State == Dead || d.State == Held && d.HeldBecause != HeldDeleted
}

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

// Enqueue makes the delivery due at t and asks for a new queue message: see Due. Earlier queue messages have no effect.
func (d *Delivery) Enqueue(t time.Time) {
	d.Generation++
	d.Postpone(t)
}

// Postpone makes the delivery due at t, to the millisecond, and keeps its queue message. A message's due time has no finer
// unit, and a message must not arrive before its delivery is due.
func (d *Delivery) Postpone(t time.Time) {
	t = t.UTC().Truncate(time.Millisecond)
	d.State, d.NextAttemptAt, d.HeldBecause, d.HeldDetail = Scheduled, &t, "", ""
}

// Restart starts the schedule again at now, for a retry or a recovery.
func (d *Delivery) Restart(now time.Time) {
	d.Made, d.Told = 0, 0
	d.Enqueue(now)
}

// Begin starts the schedule again with an attempt of a recovery that follows at once, without a queue message.
func (d *Delivery) Begin(recovery string) {
	d.Generation++
	d.Made, d.Told, d.HeldBecause, d.HeldDetail, d.Recovery = 0, 0, "", "", recovery
}

// wait starts the schedule again when the delivery becomes the head of its line.
func (d *Delivery) wait() {
	d.End(Waiting)
	d.Made, d.Told, d.HeldBecause, d.HeldDetail = 0, 0, "", ""
}

// Hold keeps the delivery back until a recovery.
func (d *Delivery) Hold(because string) {
	d.End(Held)
	d.HeldBecause = because
}

// Unselected holds a delivery whose endpoint's filter or transformation could not be evaluated, with the reason in words. Its payload
// is that of the event.
func (d *Delivery) Unselected(because, detail string) {
	d.Hold(because)
	d.HeldDetail, d.Whole = detail, true
}

// End sets a state in which no attempt is due.
func (d *Delivery) End(s State) { d.State, d.NextAttemptAt = s, nil }

// A delivery of release 0.1.0 has no member for its head: the members of the head stand next to the others, and the log has another
// name. The functions below read both forms.

// DecodeHead decodes the head of a stored delivery into the value that head points to. It reads neither the attempts nor the payload.
func DecodeHead(body []byte, head any) error {
	return decode(body, map[string]any{"head": head}, nil, head)
}

// DecodeLog decodes the head and the attempts of a stored delivery. It does not read the payload.
func DecodeLog(body []byte, head, attempts any) error {
	return decode(body, map[string]any{"head": head, "log": attempts}, map[string]any{"attempts": attempts}, head)
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Delivery) UnmarshalJSON(body []byte) error {
	members := map[string]any{"head": &d.Head, "log": &d.Attempts, "payload": &d.Payload}
	return decode(body, members, nil, &flat{&d.Head, &d.EventID, &d.Event, &d.CreatedAt, &d.Attempts, &d.Payload})
}

// decode decodes members, or else those of release 0.1.0: some, and the whole.
func decode(body []byte, members, former map[string]any, whole any) error {
	if err := fastjson.UnmarshalMembers(body, members); err != nil || members["head"] == nil {
		return err
	}
	if err := fastjson.UnmarshalMembers(body, former); err != nil {
		return err
	}
	return fastjson.Unmarshal(body, whole)
}

// flat holds the members of release 0.1.0, and where they belong.
type flat struct {
	*Head
	EventID   *string          `json:"eventId"`
	Event     *string          `json:"event"`
	CreatedAt *time.Time       `json:"createdAt"`
	Attempts  *[]Attempt       `json:"attempts"`
	Payload   *json.RawMessage `json:"payload"`
}

// StateOf returns the state of a stored delivery. The result is empty if body is not a delivery.
func StateOf(body []byte) State {
	var head struct {
		State State `json:"state"`
	}
	if DecodeHead(body, &head) != nil {
		return ""
	}
	return head.State
}
