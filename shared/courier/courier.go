// Package courier makes attempts: it knows a company's webhook endpoints with their live secrets, sends a delivery to
// one of them, and writes down in the delivery what came of it and what is due next. The dispatcher makes first
// attempts with it, the retrier all later ones.
package courier

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"orgops/shared/delivery"
	"orgops/shared/integration"
	"orgops/shared/metric"
	"orgops/shared/outbound"
	"orgops/shared/store"
	"orgops/shared/webhook"
)

// Courier is safe for concurrent use. Make one with New.
type Courier struct {
	Deps
	cache  *cache
	health *healths
}

// Deps is what a Courier works with.
type Deps struct {
	Store  store.Store
	Vault  integration.Vault
	Client *outbound.Client
	Logger *slog.Logger
	Now    func() time.Time
	// Fresh is how long endpoints are remembered without being told of a change by Forget; 0: not at all. A process
	// that consumes the feed hears of every change, a Lambda does not.
	Fresh   time.Duration
	Metrics *metric.Recorder // nil: nothing is measured
}

// New is a courier without any memory yet.
func New(d Deps) *Courier {
	return &Courier{Deps: d, cache: newCache(d.Fresh), health: newHealths()}
}

// Attempt sends a delivery once and records the attempt in it: delivered, due again, refused for good, or dead. It
// reports whether the endpoint took it. The caller stores the delivery.
func (c *Courier) Attempt(ctx context.Context, e *Endpoint, d *delivery.Delivery, timeout time.Duration) (ok bool) {
	started := c.Now().UTC()
	o := webhook.Send(ctx, c.Client, e.target, webhook.Message{ID: d.EventID, Body: d.Payload, Timeout: timeout}, c.Now)
	now := c.Now().UTC()
	c.measure(e, o, e.health.heed(o, now))
	if o.Class == webhook.Aborted {
		d.Schedule(now, d.Requests == 0)
		return false
	}
	last, _ := d.Last()
	a := delivery.Attempt{
		Number: last.Number + 1, State: delivery.Failed, At: started, Status: o.Status,
		LatencyMS: o.Latency.Milliseconds(), Error: o.Err, Excerpt: o.Excerpt,
	}
	if o.Class == webhook.Delivered {
		a.State = delivery.Delivered
	}
	d.Record(a)
	c.settle(ctx, e, d, o, now)
	return o.Class == webhook.Delivered
}

func (c *Courier) measure(e *Endpoint, o webhook.Outcome, broke bool) {
	if o.Class == webhook.Aborted {
		return
	}
	c.Metrics.Time(metric.AttemptLatency, o.Latency)
	if o.Class != webhook.Delivered {
		c.Metrics.Trouble(metric.AttemptsFailed, e.Company.ID())
	}
	if broke {
		c.Metrics.Trouble(metric.BreakersOpened, e.Company.ID())
	}
}

// Stored measures what a delivery has become. It is to be told of each that was put on record.
func (c *Courier) Stored(d *delivery.Delivery) {
	switch d.State {
	case delivery.Delivered:
		c.Metrics.Count(metric.DeliveriesSucceeded, 1)
		c.Metrics.Since(metric.DeliveryDelay, d.CreatedAt)
	case delivery.Scheduled:
		c.Metrics.Count(metric.DeliveriesScheduled, 1)
	case delivery.Held:
		c.Metrics.Count(metric.DeliveriesHeld, 1)
	case delivery.Failed:
		c.Metrics.Count(metric.DeliveriesFailed, 1)
	case delivery.Dead:
		c.Metrics.Count(metric.DeliveriesDead, 1)
	}
}

// settle says what the outcome means for the delivery, and for the endpoint where it asked to be left alone.
func (c *Courier) settle(ctx context.Context, e *Endpoint, d *delivery.Delivery, o webhook.Outcome, now time.Time) {
	switch o.Class {
	case webhook.Delivered:
		d.End(delivery.Delivered)
		return
	case webhook.Gone:
		d.End(delivery.Failed)
		c.disable(ctx, e, e.Integration, integration.DisabledGone, now)
		return
	}
	if at, again := webhook.Next(d.Made, o, now, rand.Float64()); again {
		d.Schedule(at, d.Requests == 0)
	} else {
		d.End(delivery.Dead)
	}
}

// Sample sends one signed sample event, in no log and whatever the endpoint's state, and answers the attempt.
func (c *Courier) Sample(ctx context.Context, e *Endpoint, d delivery.Delivery) delivery.Attempt {
	if e.target == nil {
		return delivery.Attempt{
			Number: 1, State: delivery.Failed, At: d.CreatedAt, Error: "there is no usable url and signing secret: configure the endpoint again",
		}
	}
	o := webhook.Send(ctx, c.Client, e.target, webhook.Message{ID: d.EventID, Body: d.Payload, Timeout: webhook.FirstTimeout}, c.Now)
	a := delivery.Attempt{
		Number: 1, State: delivery.Failed, At: d.CreatedAt, Status: o.Status, LatencyMS: o.Latency.Milliseconds(),
		Error: o.Err, Excerpt: o.Excerpt,
	}
	if o.Class == webhook.Delivered {
		a.State = delivery.Delivered
	}
	return a
}

// disable turns an endpoint off, unless somebody changed it in between: then it is not the one that answered.
func (c *Courier) disable(ctx context.Context, e *Endpoint, i integration.Integration, reason string, now time.Time) {
	i.Enabled, i.Disabled, i.UpdatedAt = false, &integration.Disabled{Reason: reason, At: now}, now
	err := e.Company.Commit(ctx, e.Company.Replace(integration.Key(i.Provider), integration.Entity, e.version, i))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		c.Logger.WarnContext(ctx, "disable endpoint", "company", e.Company.ID(), "provider", i.Provider, "reason", reason, "error", err)
		return
	}
	c.Forget(e.Company.ID()) // whoever changed it
	if err != nil {
		return
	}
	c.Logger.InfoContext(ctx, "endpoint disabled", "company", e.Company.ID(), "provider", i.Provider, "reason", reason)
}

// FailingLimit is how long every attempt to an endpoint must have failed before it is disabled.
const FailingLimit = 5 * 24 * time.Hour

// DisableFailing turns off an endpoint that has failed since a time longer ago than FailingLimit, and puts it back into
// the sandbox: it has to show that it works before it is sent events again. since is zero when it has not been failing.
func (c *Courier) DisableFailing(ctx context.Context, e *Endpoint, since time.Time) {
	now := c.Now().UTC()
	if since.IsZero() || now.Sub(since) < FailingLimit {
		return
	}
	c.disable(ctx, e, e.Sandboxed(integration.SandboxedByFailing, now), integration.DisabledFailing, now)
}

// SpillDelay is how long a delivery waits that found its endpoint's slots taken: one to three seconds, spread out.
func SpillDelay() time.Duration { return time.Second + rand.N(2*time.Second) }
