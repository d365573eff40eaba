package courier

import (
	"context"
	"net/http"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/post"
)

// attempt sends a delivery once, and applies the result to the delivery and the endpoint.
func (c *Courier) attempt(ctx context.Context, t *Task) {
	e, started := t.Endpoint, c.Now().UTC()
	t.phase = sending
	r := post.Send(ctx, c.Client, e.target, post.Message{ID: t.Delivery.EventID, Body: t.Delivery.Payload, Timeout: c.budget(t)}, c.Now)
	now := c.Now().UTC()
	c.decide(t, r, started)
	t.phase = decided
	c.slots.record(t.slot, r)
	// An attempt without an answer does not count if the endpoint has answered another one meanwhile: the endpoint works, but got more
	// attempts than it answers in time. The window shrinks instead.
	answered := e.home.answers(r, now)
	t.admitted = false
	was, is := e.home.done(ctx, r, r.Status != 0 || !answered.After(started))
	t.Delivery.Turned = is.turned(was)
	c.measure(e, r, t.Delivery.Turned)
	switch r.Class {
	case post.Delivered:
	case post.Gone:
		c.disable(ctx, e, integration.DisabledGone, now)
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
	case told(r) && d.Told < maxTold:
		d.Told++
		d.Enqueue(r.RetryAt)
	default:
		if at, again := next(d.Made-d.Told, r, c.Now().UTC(), c.Random()); again {
			d.Enqueue(at)
		} else {
			d.End(delivery.Dead)
		}
	}
}

// told reports whether the endpoint asked for a wait that holds for all of its deliveries (RFC 6585 §4, RFC 9110 §15.6.4).
func told(r post.Result) bool {
	return r.RetryAfter > 0 && (r.Class == post.Throttled || r.Status == http.StatusServiceUnavailable)
}

// Sample sends one signed sample event to an endpoint in any state, and returns the attempt. It logs nothing.
func (c *Courier) Sample(ctx context.Context, company store.Company, d delivery.Delivery) (delivery.Attempt, error) {
	e, err := c.look(ctx, company, d.Endpoint)
	if err != nil {
		return delivery.Attempt{}, err
	}
	if e.target == nil {
		return delivery.Attempt{
			Number: 1, State: delivery.Failed, At: d.CreatedAt, Error: "the endpoint has no usable url or signing secret; configure it again",
		}, nil
	}
	r := post.Send(ctx, c.Client, e.target, post.Message{ID: d.EventID, Body: d.Payload, Timeout: post.FirstTimeout}, c.Now)
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

// measure records the metrics of an attempt.
func (c *Courier) measure(e *Endpoint, r post.Result, turned *delivery.Turn) {
	c.Metrics.Time(metric.AttemptLatency, r.Latency)
	if r.Class != post.Delivered {
		c.Metrics.Trouble(metric.AttemptsFailed, e.Company.ID())
	}
	if turned != nil && turned.Paused {
		c.Metrics.Trouble(metric.BreakersOpened, e.Company.ID())
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
