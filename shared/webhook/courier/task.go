package courier

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/endpoint"
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

	Generation int    // Queue: of the message; one of an earlier generation has no effect
	InHand     int    // Backlog: deliveries that the source has, with this one; it asks again itself
	Recovery   string // Backlog: the recovery's id

	// Endpoint is where the delivery goes. The engine replaces it if it has changed, and reads it if it is nil: for a Backlog, always from
	// the store.
	Endpoint *endpoint.Endpoint
	// Failing tells since when an endpoint has been failing, zero if it is not. The engine asks after a failed attempt, at most once a
	// minute. nil: it does not ask.
	Failing func(context.Context, *endpoint.Endpoint) time.Time
	// Select gives the payload of a whole delivery the form that the endpoint gets, or holds the delivery. nil: the source has done so.
	Select func(context.Context, *endpoint.Endpoint, *delivery.Delivery)
	// Done gets the outcome of a task that was started, from another goroutine.
	Done func(Outcome)

	phase   phase
	slot    endpoint.Key
	slotted bool          // it holds a slot that it gives back itself
	waits   time.Time     // since when it waits in its lane
	budget  time.Duration // that the attempt may take
	free    int           // attempts in flight of this process that need no lease
	because string        // why the endpoint may not receive events; empty: it may
	outcome Outcome
	met     []func(Outcome) // of tasks of the same delivery that came meanwhile; guarded by records

	home     home      // of its endpoint's bounds
	admitted bool      // it holds the permission of the endpoint's bounds
	begins   time.Time // the attempt must have begun before; zero: it may begin at any time
}

// joins reports whether the task puts a new delivery into its line instead of making an attempt.
func (t *Task) joins() bool {
	return t.Source == Feed && t.Delivery.Line != "" && t.Delivery.State == ""
}

// Outcome tells what became of a task.
type Outcome struct {
	Until  time.Time // not zero: the delivery waits, and the source gives the task again then
	Broken bool      // because the endpoint's breaker is open
	Err    error     // the task failed; the source gives it again soon
}

// later ends a task whose attempt may not be made yet, or is prevented by an error. The Feed's delivery is recorded as due then.
func (c *Courier) later(ctx context.Context, t *Task, o Outcome) phase {
	if t.Source != Feed {
		return c.end(ctx, t, o)
	}
	if o.Err != nil {
		o.Until = c.soon()
	}
	c.leave(ctx, t)
	t.Delivery.Enqueue(o.Until)
	return decided
}

// leave gives a permission back that was not used.
func (c *Courier) leave(ctx context.Context, t *Task) {
	if t.admitted {
		t.admitted = false
		t.home.leave(ctx)
	}
}

// vacate gives the slot back that a task got from place. The slot of a Feed's task goes to the next one of its lane: see work.
func (c *Courier) vacate(t *Task) {
	if t.slotted {
		c.slots.release(t.slot, t.Source)
		t.slotted = false
	}
}

// end gives back what a task holds. Its outcome is that of all tasks which it has met.
func (c *Courier) end(ctx context.Context, t *Task, o Outcome) phase {
	c.leave(ctx, t)
	c.vacate(t)
	t.outcome = o
	for _, done := range c.records.end(t) {
		done(o)
	}
	return ended
}

var errPanicked = errors.New("the attempt panicked")

// recovered ends a panic if it is deferred: it counts and logs the panic, and calls lost. The value of the panic may hold a secret, so
// the log has only its type.
func (c *Courier) recovered(ctx context.Context, t *Task, lost func()) {
	v := recover()
	if v == nil {
		return
	}
	c.Metrics.Trouble(metric.AttemptsFailed, t.Company.ID())
	c.Logger.ErrorContext(ctx, "attempt panicked", "company", t.Company.ID(), "key", t.Key, "panic", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
	lost()
}

// lose returns the phase in which a task goes on after a panic in the step from a phase. If the request was under way, the attempt has
// failed. If it had ended, its record is written. If the panic came from that write, the task ends with an error, and the next task of the
// delivery writes the record. In the other phases, the attempt is made later.
func (c *Courier) lose(ctx context.Context, t *Task, from phase) phase {
	switch {
	case from == decided && t.Source == Feed:
		return c.finish(t, errPanicked)
	case from == decided:
		c.records.keep(t)
		return c.end(ctx, t, Outcome{Err: errPanicked})
	case t.phase == sending:
		c.decide(t, post.Result{Err: "the attempt failed because of an error in the service; no action at the endpoint is necessary"}, c.Now().UTC())
	case t.phase < sending:
		return c.later(ctx, t, Outcome{Err: errPanicked})
	}
	return decided
}
