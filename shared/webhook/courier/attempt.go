package courier

import (
	"context"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/post"
	"orgops/shared/webhook/schedule"
)

// attempt sends a delivery once, and applies the result to the delivery and the endpoint.
func (c *Courier) attempt(ctx context.Context, t *Task) {
	started := c.Now().UTC()
	t.phase = sending
	r := post.Send(ctx, c.Client, t.Endpoint.Target, post.Message{ID: t.Delivery.EventID, Body: t.Delivery.Payload, Timeout: t.budget}, c.Now)
	now := c.Now().UTC()
	c.decide(t, r, started)
	t.phase = decided
	c.slots.record(t.slot, r)
	t.admitted = false
	was, is := t.home.done(ctx, r, started)
	t.Delivery.Turned = is.Turned(was)
	c.measure(t, r)
	switch r.Class {
	case post.Delivered:
	case post.Gone:
		c.Disable(ctx, t.Endpoint, integration.DisabledGone, now)
	default:
		c.judge(ctx, t)
	}
}

// decide logs an attempt in its delivery, and gives the delivery its new state.
func (c *Courier) decide(t *Task, r post.Result, started time.Time) {
	d := &t.Delivery
	last, _ := d.Last()
	d.Log(logged(r, last.Number+1, started))
	switch {
	case r.Class == post.Delivered:
		d.End(delivery.Delivered)
	case r.Class == post.Gone:
		d.End(delivery.Failed)
	case r.Asked() && d.Told < maxTold:
		d.Told++
		d.Enqueue(r.RetryAt)
	default:
		if at, again := schedule.Next(d.Made-d.Told, r, c.Now().UTC(), c.Random()); again {
			d.Enqueue(at)
		} else {
			d.End(delivery.Dead)
		}
	}
}

// maxTold limits how often a delivery is sent when the endpoint has asked for it, instead of by the schedule. The endpoint's other
// deliveries wait as long, and the refused one is the first that it gets. Such an attempt uses up none of the schedule, or
// an endpoint that asks for short waits would have all of it within minutes.
const maxTold = 10

// Sample sends one signed sample event to an endpoint in any state, and returns the attempt. It logs nothing.
func (c *Courier) Sample(ctx context.Context, company store.Company, d delivery.Delivery) (delivery.Attempt, error) {
	e, err := c.Read(ctx, company, d.Endpoint)
	if err != nil {
		return delivery.Attempt{}, err
	}
	if e.Target == nil {
		return delivery.Attempt{
			Number: 1, State: delivery.Failed, At: d.CreatedAt, Error: "the endpoint has no usable url or signing secret; configure it again",
		}, nil
	}
	r := post.Send(ctx, c.Client, e.Target, post.Message{ID: d.EventID, Body: d.Payload, Timeout: post.FirstTimeout}, c.Now)
	return logged(r, 1, d.CreatedAt), nil
}

// logged converts a result into an entry of the delivery's log.
func logged(r post.Result, number int, at time.Time) delivery.Attempt {
	a := delivery.Attempt{
		Number: number, State: delivery.Failed, At: at, Status: r.Status, LatencyMS: r.Latency.Milliseconds(), Error: r.Err, Excerpt: r.Excerpt,
	}
	if r.Class == post.Delivered {
		a.State = delivery.Delivered
	}
	return a
}

func (c *Courier) measure(t *Task, r post.Result) {
	c.Metrics.Time(metric.AttemptLatency, r.Latency)
	if r.Class != post.Delivered {
		c.Metrics.Trouble(metric.AttemptsFailed, t.slot.Company)
	}
	if t.Delivery.Turned != nil && t.Delivery.Turned.Paused {
		c.Metrics.Trouble(metric.BreakersOpened, t.slot.Company)
	}
}

// count records the metrics of a delivery's state, when it is stored.
func (c *Courier) count(d *delivery.Delivery) {
	switch d.State {
	case delivery.Delivered:
		c.Metrics.Count(metric.DeliveriesSucceeded, 1)
		c.Metrics.Since(metric.DeliveryDelay, d.CreatedAt)
	case delivery.Scheduled, delivery.Waiting:
		c.Metrics.Count(metric.DeliveriesScheduled, 1)
	case delivery.Held:
		c.Metrics.Count(metric.DeliveriesHeld, 1)
	case delivery.Failed:
		c.Metrics.Count(metric.DeliveriesFailed, 1)
	case delivery.Dead:
		c.Metrics.Count(metric.DeliveriesDead, 1)
	}
}

// FailingLimit sets how long every attempt to an endpoint must fail before the endpoint is disabled.
const FailingLimit = 5 * 24 * time.Hour

// judgePause separates two looks at since when an endpoint has been failing. The company's context, which says so, is too large
// to read after every failed attempt.
const judgePause = time.Minute

// judge disables an endpoint that has been failing for FailingLimit, and returns it to the sandbox, if the policy engine permits it.
// The endpoint must be certified again before it receives events.
func (c *Courier) judge(ctx context.Context, t *Task) {
	now := c.Now().UTC()
	if t.Failing == nil || !t.home.judgeable(now) {
		return
	}
	if since := t.Failing(ctx, t.Endpoint); !since.IsZero() && now.Sub(since) >= FailingLimit {
		c.Disable(ctx, t.Endpoint, integration.DisabledFailing, now)
	}
}
