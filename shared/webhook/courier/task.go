package courier

import (
	"context"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/post"
)

// Source names what gives tasks to the engine.
type Source uint8

// The sources.
const (
	Feed    Source = iota // the change feed: first attempts
	Queue                 // due messages: later attempts
	Backlog               // a recovery: attempts with which a schedule begins again
)

// Task asks for one attempt of a delivery. Its source fills the exported fields and leaves the task alone until it has the Outcome.
type Task struct {
	Source      Source
	Company     store.Company
	Key         string // of the delivery's record
	Incarnation string // of the delivery's endpoint

	Again    bool // an earlier process may have made the attempt without recording it
	Replayed bool // Feed: an earlier process may have recorded the attempt

	// Delivery is what is sent. The engine reads that of a Queue's task, when its attempt may begin.
	Delivery delivery.Delivery
	Version  int64 // of the delivery's record; 0: it has none

	Subject    string // Feed: the key of the record that changed; an ordered endpoint has a line for each
	Generation int    // Queue: of the message; one of an earlier generation has no effect
	InHand     int    // Backlog: deliveries that the source has, with this one; it asks again itself
	Recovery   string // Backlog: the recovery's id

	// Endpoint is where the delivery goes. The engine replaces it if it has changed, and reads it if it is nil: for a Backlog, always from
	// the store.
	Endpoint *Endpoint
	// Failing tells since when an endpoint has been failing, zero if it is not. The engine asks after a failed attempt, at most once a
	// minute. nil: it does not ask.
	Failing func(context.Context, *Endpoint) time.Time
	// Select gives the payload of a whole delivery the form that the endpoint gets, or holds the delivery. nil: the source has done so.
	Select func(context.Context, *Endpoint, *delivery.Delivery)
	// Done gets the outcome of a task that was started, from another goroutine.
	Done func(Outcome)

	phase   phase
	slot    EndpointKey
	slotted bool      // it holds a slot that it gives back itself
	waits   time.Time // since when it waits in its lane
	because string    // why the endpoint may not receive events; empty: it may
	outcome Outcome
	met     []func(Outcome) // of tasks of the same delivery that came meanwhile; guarded by records

	admitted bool      // it holds the permission of the endpoint's bounds
	begins   time.Time // the attempt must have begun before; zero: it may begin at any time
}

// Outcome tells what became of a task.
type Outcome struct {
	Until  time.Time // not zero: the delivery waits, and the source gives the task again then
	Broken bool      // because the endpoint's breaker is open
	Err    error     // the task failed; the source gives it again soon
}

// budget returns how long the attempt may take.
func (c *Courier) budget(t *Task) time.Duration {
	if t.Source == Feed {
		return c.First
	}
	return post.RetryTimeout
}
