package courier

import (
	"context"
	"fmt"
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

func (s State) String() string {
	if s < Done || s > Held {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return [...]string{"done", "deferred", "held"}[s-Done]
}

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
	e, err := c.renew(ctx, e)
	if err != nil {
		return Result{}, err
	}
	now := c.Now()
	if because, held := e.held(now); held {
		d.Hold(because)
		return Result{State: Held, Because: because}, nil
	}
	if until, wait := e.wait(ctx, d, budget, now); wait {
		return Result{State: Deferred, Until: until}, nil
	}
	return c.attempt(ctx, e, d, budget), nil
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
		c.disable(ctx, e, e.Integration, integration.DisabledGone, now)
		return Result{State: Done, Attempted: true}
	}
	if at, again := next(d.Made, o, now, c.Random()); again {
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
