// Package courier delivers webhooks. It loads a company's endpoints with their live secrets, sends a delivery to one of
// them and logs the attempt in the delivery. It limits the attempts to each endpoint by a breaker, a rate and slots. A process
// that sends alone keeps what is used of these limits in memory, and may lose it without harm. Processes that send to the same
// endpoints share it in an item for each endpoint, from which each takes its part.
package courier

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

// Courier delivers webhooks to the endpoints of all companies. Make one with New. It is safe for concurrent use.
type Courier struct {
	Deps
	Slots   *Slots // bounds the attempts of all that deliver with this courier
	reader  integration.Reader
	cache   *cache
	health  *healths
	records *gate
}

// Deps holds the parts that a Courier works with.
type Deps struct {
	Store  store.Store
	Vault  integration.Vault
	Client *outbound.Client
	Engine policy.Engine // decides whether an endpoint is disabled; a courier that only sends samples needs none
	Logger *slog.Logger
	Now    func() time.Time
	// Fresh limits how long endpoints are cached without a Forget; 0 disables the cache. A process that consumes the feed
	// may set it, because it sees every change. A Lambda leaves it 0.
	Fresh time.Duration
	// Shared reports that other processes send to the same endpoints, so that the limits must hold across all of them.
	Shared  bool
	Metrics *metric.Recorder // nil: no metrics
	// Random returns a number of [0, 1) for the jitter of waits. Nil: that of math/rand/v2.
	Random func() float64
}

// New makes a courier with an empty cache.
func New(d Deps) *Courier {
	if d.Random == nil {
		d.Random = rand.Float64
	}
	c := &Courier{Deps: d, Slots: NewSlots(TotalSlots, d.Now), cache: newCache(d.Fresh), records: newGate()}
	c.health = newHealths(d.Random, c.leases())
	return c
}

// leases returns a function that makes the lease of an endpoint, or nil if this process sends alone.
func (c *Courier) leases() func(*Endpoint) *lease {
	if !c.Shared {
		return func(*Endpoint) *lease { return nil }
	}
	process := fmt.Sprintf("%08x", uint32(c.Random()*(1<<32)))
	return func(e *Endpoint) *lease {
		return &lease{
			company: e.Company, provider: e.Provider, key: integration.BoundsKey(e.Provider, e.Incarnation), process: process, now: c.Now, logger: c.Logger, turn: make(chan struct{}, 1), random: c.Random,
		}
	}
}

// Stored records the metrics of a delivery's state. Call it for each delivery that was stored.
func (c *Courier) Stored(d *delivery.Delivery) {
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

// SpillDelay returns how long a delivery without a free slot waits: a random time of one to three seconds.
func (c *Courier) SpillDelay() time.Duration { return spillDelay(c.Random) }

func spillDelay(random func() float64) time.Duration {
	return time.Second + time.Duration(random()*float64(2*time.Second))
}
