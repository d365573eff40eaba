package courier

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"orgops/shared/base/metric"
	"orgops/shared/webhook/post"
)

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
		t.Endpoint.home.leave(ctx)
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
