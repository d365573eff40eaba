package courier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/breaker"
	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/post"
)

// phase says how far a task is, or which other owner has it: see the table in the package's comment.
type phase uint8

const (
	given phase = iota
	placed
	asked
	ready
	sending
	decided
	ended
	waiting // from here on, another owner has the task
	recording
	joining
	met
	returned
)

// Run takes a task of the Queue from its slot to its stored record. The end of ctx stops only waits: an attempt in flight is finished
// and recorded.
func (c *Courier) Run(ctx context.Context, t *Task) Outcome {
	c.advance(ctx, t, ended)
	return t.outcome
}

// Start makes the attempt of a task in the background, and then calls its Done. ok is false, and Done is not called, if the task may not
// begin now: o tells when. A task of the Backlog begins after its pause between attempts (see slots.pace).
//
// A task of the Feed always begins: it waits for a slot in its endpoint's lane, or is recorded as due later.
func (c *Courier) Start(ctx context.Context, t *Task) (o Outcome, ok bool) {
	if t.Source == Feed {
		c.advance(ctx, t, ended)
		return Outcome{}, true
	}
	if c.advance(ctx, t, asked); t.phase == ended {
		return t.outcome, false
	}
	go func() {
		c.advance(ctx, t, ended)
		t.Done(t.outcome)
	}()
	return Outcome{}, true
}

// advance takes a task from phase to phase, until it has reached one of them. It returns earlier if the task gets another owner.
func (c *Courier) advance(ctx context.Context, t *Task, to phase) {
	for t.phase < to {
		next := c.step(ctx, t)
		if next >= waiting {
			return
		}
		t.phase = next
	}
}

// step takes a task to its next phase.
func (c *Courier) step(ctx context.Context, t *Task) (next phase) {
	finishing, from := context.WithoutCancel(ctx), t.phase
	defer c.recovered(finishing, t, func() { next = c.lose(finishing, t, from) })
	switch from {
	case given:
		return c.place(finishing, t)
	case placed:
		return c.ask(ctx, t)
	case asked:
		return c.fetch(finishing, t)
	case ready:
		return c.send(finishing, t)
	}
	return c.record(ctx, t)
}

// place gets a slot for a task. It does not read anything before, unless an earlier process may have made the attempt.
func (c *Courier) place(ctx context.Context, t *Task) phase {
	t.slot = endpoint.Key{Company: t.Company.ID(), Provider: delivery.EndpointOf(t.Key), Incarnation: t.Incarnation}
	t.budget, t.free = post.RetryTimeout, freeRetries
	if t.Source == Feed {
		t.budget, t.free = c.First, freeFirst
	}
	alone := t.Source == Feed && t.Delivery.State == delivery.Held // for itself, so it stands in no line
	switch {
	case t.joins():
		c.lineUp(t)
		return joining
	case !c.records.begin(t):
		return c.meet(t)
	case alone, c.records.take(t): // an earlier attempt's, which is not made again
		return decided
	case t.Source == Feed:
		return c.first(ctx, t)
	case c.slots.take(t.slot, t.Source):
		t.slotted = true
		return placed
	case t.Source == Queue:
		return c.end(ctx, t, Outcome{Until: c.slots.comeback(t.slot, c.Spill())})
	}
	return c.end(ctx, t, Outcome{Until: c.Now()})
}

// meet ends a task whose delivery is in progress: otherwise it might read the record before the other attempt is stored, and make the
// attempt a second time.
func (c *Courier) meet(t *Task) phase {
	switch t.Source {
	case Feed:
		return met // it gets the other one's outcome
	case Queue:
		t.outcome.Until = c.soon()
	case Backlog:
		t.outcome.Until = c.Now()
	}
	return ended
}

// ask gets the permission for an attempt: of the endpoint's state, and of its bounds. Here, a task of the Queue or the Backlog may wait a
// little (see slots.pace). If one of the Queue must wait long, because of the breaker, it goes on to fetch: its delivery may have no use for
// it any more.
func (c *Courier) ask(ctx context.Context, t *Task) phase {
	finishing := context.WithoutCancel(ctx)
	switch {
	case t.Source != Feed && !c.rest(ctx, c.slots.pace(t.slot)):
		return c.end(ctx, t, Outcome{Until: c.Now()})
	case t.Source != Queue && !c.records.writable(t.slot.Company):
		return c.later(finishing, t, Outcome{Err: store.ErrUnavailable})
	}
	e, err := c.current(finishing, t)
	if err != nil {
		return c.later(finishing, t, Outcome{Err: err})
	}
	t.Endpoint = e
	t.because, _ = e.Held(t.Incarnation, c.Now())
	if t.because == "" && !c.admit(finishing, t) && (t.Source != Queue || !t.outcome.Broken) {
		return c.later(finishing, t, t.outcome)
	}
	return asked
}

// current returns the endpoint of a task as it is now.
func (c *Courier) current(ctx context.Context, t *Task) (e *endpoint.Endpoint, err error) {
	switch {
	case t.Endpoint != nil:
		e = t.Endpoint
	case t.Source == Backlog:
		return c.Read(ctx, t.Company, t.slot.Provider)
	default:
		if e, err = c.Endpoint(ctx, t.Company, t.slot.Provider); err != nil {
			return nil, err
		}
	}
	return c.Current(ctx, e)
}

// admit asks the endpoint's bounds for an attempt. If they refuse it, the task's outcome tells when to ask again. An endpoint whose
// secrets could not be decrypted waits for the key service.
func (c *Courier) admit(ctx context.Context, t *Task) (ok bool) {
	e, now := t.Endpoint, c.Now()
	if e.Sealed {
		t.outcome = Outcome{Until: now.Add(endpoint.SealedWait + c.Spill()), Broken: true}
		return false
	}
	t.home = c.homeOf(e)
	by, ok := t.home.admit(ctx, t)
	if !ok {
		b, _ := t.home.seen(ctx, false)
		t.outcome = Outcome{Until: by, Broken: b.Circuit.State(now) != breaker.Closed}
		return false
	}
	t.admitted, t.begins = true, by
	return true
}

// rest waits until a time. It returns false if ctx ends first.
func (c *Courier) rest(ctx context.Context, until time.Time) bool {
	left := until.Sub(c.Now())
	return left <= 0 || wait.For(ctx, left)
}

// fetch makes the delivery of a task ready for its attempt. That of a Queue's task is read, and claimed if the attempt may have been
// made without its record, if records cannot be written, or if the delivery stands in a line: a second attempt of it, by a late copy of
// its message, could arrive after the next delivery of the line.
func (c *Courier) fetch(ctx context.Context, t *Task) phase {
	if t.Source == Backlog {
		t.Delivery.Begin(t.Recovery)
	}
	if t.Source != Queue {
		return ready
	}
	due, err := c.read(ctx, t)
	switch {
	case err != nil || due.IsZero() || due.After(c.Now()):
		return c.end(ctx, t, Outcome{Until: due, Err: err})
	case t.outcome.Broken:
		return c.end(ctx, t, t.outcome)
	case !t.Again && t.Delivery.Line == "" && c.records.writable(t.slot.Company):
		return ready
	}
	err = c.claim(ctx, t)
	switch {
	case err == nil:
		return ready
	case !t.Again && errors.Is(err, store.ErrUnavailable):
		return c.end(ctx, t, Outcome{Until: c.Now().Add(unwritten + c.Spill())})
	}
	return c.end(ctx, t, c.settle(ctx, t, err))
}

// send holds the delivery if its endpoint may not receive it, and makes the attempt otherwise.
func (c *Courier) send(ctx context.Context, t *Task) phase {
	now := c.Now()
	switch {
	case t.because != "":
		t.Delivery.Hold(t.because)
		return decided
	case t.Delivery.Whole && t.Select != nil && !c.selects(ctx, t):
		return decided
	case !t.begins.IsZero() && now.After(t.begins):
		return c.later(ctx, t, Outcome{Until: now.Add(c.Spill())})
	}
	c.attempt(ctx, t)
	return decided
}

// selects gives a whole delivery the form that its endpoint gets. It reports whether the attempt goes on.
func (c *Courier) selects(ctx context.Context, t *Task) bool {
	t.Select(ctx, t.Endpoint, &t.Delivery)
	if t.Delivery.Whole {
		c.leave(ctx, t)
	}
	return !t.Delivery.Whole
}

// record stores what became of the delivery. The Feed's deliveries are stored together; its slot is free when the record is in the
// writer's hands. The others give their slot back before, because the record may take long to write.
func (c *Courier) record(ctx context.Context, t *Task) phase {
	if t.Source == Feed {
		c.writer.in <- write{task: t, op: t.Delivery.Save(t.Company, 0)}
		return recording
	}
	c.vacate(t)
	if t.Source == Backlog {
		c.slots.unrecorded(t.slot, 1)
		defer c.slots.unrecorded(t.slot, -1)
	}
	return c.end(ctx, t, c.settle(ctx, t, c.save(ctx, t)))
}
