package courier

import (
	"context"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
)

// State says what Deliver did with a delivery.
type State uint8

// The states.
const (
	Done     State = iota + 1 // finished: delivered, refused for good, or dead
	Deferred                  // due at Result.Until
	Held                      // the endpoint may not receive events: see Result.Because
)

// Result holds the result of Deliver.
type Result struct {
	State     State
	Until     time.Time // if Deferred: when to call Deliver again
	Because   string    // if Held: the reason, as in the delivery's HeldBecause
	Attempted bool      // an attempt was made and is in the delivery's log
}

// Deliver makes one attempt, which takes at most budget, if the endpoint's current state allows it. It holds the delivery
// if the endpoint may not receive events, and defers it while the endpoint's breaker, rate or sealed secrets require a
// wait.
//
// The caller holds a slot for the attempt (Slots) and stores the delivery afterwards. Deliver changes the delivery's log
// and, if it is done or held, its state. The caller schedules a deferred delivery: after an attempt by Enqueue,
// otherwise by Enqueue or by deferring the message in hand. After an error nothing has changed; retry later.
func (c *Courier) Deliver(ctx context.Context, e *Endpoint, d *delivery.Delivery, budget time.Duration) (Result, error) {
	path := Queue
	if d.Generation == 0 { // only the dispatcher makes attempts of deliveries that were never queued
		path = Feed
	}
	a, err := c.Admit(ctx, e, d.Incarnation, path, budget)
	if err != nil {
		return Result{}, err
	}
	return a.Deliver(ctx, d), nil
}

// Admission allows one attempt to an endpoint, soon. Its holder calls Deliver or Leave, once.
type Admission struct {
	Until  time.Time // not zero: no attempt is allowed before
	Broken bool      // because of the breaker, and maybe for long

	courier  *Courier
	endpoint *Endpoint
	budget   time.Duration
	ends     time.Time // not zero: the attempt must have begun before
	held     bool
	because  string
}

// Admit allows an attempt, as Deliver does, before more of the delivery is known than its incarnation. So a delivery that must wait
// need not be read.
func (c *Courier) Admit(ctx context.Context, e *Endpoint, incarnation string, p Path, budget time.Duration) (*Admission, error) {
	return c.admit(ctx, e, incarnation, p, budget, 0)
}

// AdmitOf does what Admit does, for a caller that keeps its deliveries in hand and asks again soon: so many of them, with this
// one. Until is the earliest time at which an attempt may be allowed, not a turn among the deliveries that wait. It is not after
// now if an attempt must end first.
func (c *Courier) AdmitOf(ctx context.Context, e *Endpoint, incarnation string, p Path, budget time.Duration, inHand int) (*Admission, error) {
	return c.admit(ctx, e, incarnation, p, budget, inHand)
}

func (c *Courier) admit(ctx context.Context, e *Endpoint, incarnation string, p Path, budget time.Duration, inHand int) (*Admission, error) {
	e, err := c.renew(ctx, e)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	a := &Admission{courier: c, endpoint: e, budget: budget}
	if a.because, a.held = e.held(incarnation, now); a.held {
		return a, nil
	}
	if until, wait := e.wait(ctx, p, budget, now, inHand); wait {
		a.Until, a.Broken = until, e.sealed || e.health.broken(now)
		return a, nil
	}
	if c.Shared {
		a.ends = c.Now().Add(e.health.lasts())
	}
	return a, nil
}

// Deliver does what Courier.Deliver does. If it is called too late, it makes no attempt, and the delivery is due soon.
func (a *Admission) Deliver(ctx context.Context, d *delivery.Delivery) Result {
	if a.held {
		d.Hold(a.because)
		return Result{State: Held, Because: a.because}
	}
	if !a.Until.IsZero() {
		return Result{State: Deferred, Until: a.Until}
	}
	if now := a.courier.Now(); !a.ends.IsZero() && now.After(a.ends) {
		a.Leave(ctx)
		return Result{State: Deferred, Until: now.Add(a.courier.SpillDelay())}
	}
	return a.courier.attempt(ctx, a.endpoint, d, a.budget)
}

// Leave gives the admission back: no attempt is made.
func (a *Admission) Leave(ctx context.Context) {
	if !a.held && a.Until.IsZero() {
		a.endpoint.health.leave(ctx)
	}
}

// Reserve leases slots for attempts that are about to begin, at most for those that an endpoint may have at first. So they do not
// lease them one by one. Yield gives them back.
func (c *Courier) Reserve(ctx context.Context, e *Endpoint, attempts int) {
	if e.health != nil && e.health.lease != nil && attempts > freeRetries {
		e.health.lease.reserve(ctx, min(attempts, firstWindow))
	}
}

// Yield gives back the slots that this process has leased of an endpoint and does not use. Without it they are free again when
// the lease ends.
func (c *Courier) Yield(ctx context.Context, e *Endpoint) {
	if e.health != nil && e.health.lease != nil {
		e.health.lease.yield(ctx)
	}
}

// attempt sends a delivery once, logs the attempt in it, and applies the outcome to the delivery and the endpoint.
func (c *Courier) attempt(ctx context.Context, e *Endpoint, d *delivery.Delivery, budget time.Duration) Result {
	started := c.Now().UTC()
	o := c.send(ctx, e, d, budget)
	now := c.Now().UTC()
	c.Slots.record(e.Key(), o)
	c.measure(e, o, e.health.record(ctx, o, started, now))
	if o.Class == Aborted {
		return Result{State: Deferred, Until: now}
	}
	last, _ := d.Last()
	d.Log(logged(o, last.Number+1, started))
	switch o.Class {
	case Delivered:
		d.End(delivery.Delivered)
		return Result{State: Done, Attempted: true}
	case Gone:
		d.End(delivery.Failed)
		c.disable(ctx, e, integration.DisabledGone, now)
		return Result{State: Done, Attempted: true}
	}
	if o.told() && d.Told < maxTold {
		d.Told++
		return Result{State: Deferred, Until: o.RetryAt, Attempted: true}
	}
	if at, again := next(d.Made-d.Told, o, now, c.Random()); again {
		return Result{State: Deferred, Until: at, Attempted: true}
	}
	d.End(delivery.Dead)
	return Result{State: Done, Attempted: true}
}

// Sample sends one signed sample event in any state of the endpoint, and returns the attempt. It logs nothing.
func (c *Courier) Sample(ctx context.Context, e *Endpoint, d delivery.Delivery) delivery.Attempt {
	if e.target == nil {
		return delivery.Attempt{
			Number: 1, State: delivery.Failed, At: d.CreatedAt, Error: "the endpoint has no usable url or signing secret; configure it again",
		}
	}
	return logged(c.send(ctx, e, &d, FirstTimeout), 1, d.CreatedAt)
}

// send makes the request of a delivery's next attempt, which takes at most budget.
func (c *Courier) send(ctx context.Context, e *Endpoint, d *delivery.Delivery, budget time.Duration) Outcome {
	return Send(ctx, c.Client, e.target, Message{ID: d.EventID, Body: d.Payload, Timeout: budget}, c.Now)
}

// logged converts an outcome into an entry of the delivery's log.
func logged(o Outcome, number int, at time.Time) delivery.Attempt {
	a := delivery.Attempt{
		Number: number, State: delivery.Failed, At: at, Status: o.Status, LatencyMS: o.Latency.Milliseconds(), Error: o.Err, Excerpt: o.Excerpt,
	}
	if o.Class == Delivered {
		a.State = delivery.Delivered
	}
	return a
}

func (c *Courier) measure(e *Endpoint, o Outcome, broke bool) {
	if o.Class == Aborted {
		return
	}
	c.Metrics.Time(metric.AttemptLatency, o.Latency)
	if o.Class != Delivered {
		c.Metrics.Trouble(metric.AttemptsFailed, e.Company.ID())
	}
	if broke {
		c.Metrics.Trouble(metric.BreakersOpened, e.Company.ID())
	}
}
