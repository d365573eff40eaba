// Package retrier makes every attempt but the first, and works on recoveries. It takes due messages from the queue,
// but what is true stands in the delivery's record: a message that comes too early, twice or too late does no harm.
package retrier

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/courier"
	"orgops/shared/delivery"
	"orgops/shared/queue"
	"orgops/shared/store"
	"orgops/shared/webhook"
)

// Retrier is the worker. Make one with New.
type Retrier struct {
	Deps
	lanes *webhook.Lanes
	// working holds the deliveries that a message is worked on for. There may be two messages for one, and an endpoint is
	// not to be sent the same thing twice for that.
	working sync.Map
}

// Deps is what a Retrier works with.
type Deps struct {
	Store   store.Store
	Courier *courier.Courier
	Queue   queue.Queue
	Logger  *slog.Logger
	Now     func() time.Time
}

// Bounds on the attempts under way, so that hanging endpoints cannot take the slots of the others.
const (
	perEndpoint = 4
	perCompany  = 16
	total       = 256
)

// lease is how long others keep away from a message; an attempt and its record take less.
const lease = time.Minute

// New is a retrier at rest.
func New(d Deps) *Retrier {
	return &Retrier{Deps: d, lanes: webhook.NewLanes(perEndpoint, perCompany, total)}
}

// Run takes messages until ctx ends, then waits for the attempts under way.
func (r *Retrier) Run(ctx context.Context) { r.Worker().Run(ctx) }

// Worker is what takes messages from the queue and settles them.
func (r *Retrier) Worker() queue.Worker {
	return queue.Worker{Queue: r.Queue, Handle: r.Handle, Logger: r.Logger, Lease: lease, Slots: total, Take: queue.MaxBatch}
}

// Handle works on what a message names. due is when the message is to come back; zero means never.
func (r *Retrier) Handle(ctx context.Context, body []byte) (due time.Time, err error) {
	ctx = context.WithoutCancel(ctx) // an attempt under way is finished and recorded while shutting down
	var job delivery.Job
	if err := json.Unmarshal(body, &job); err != nil || job.Company == "" {
		return time.Time{}, queue.ErrPoison
	}
	company := store.For(r.Store, job.Company)
	switch {
	case job.Delivery != "":
		return r.deliver(ctx, company, delivery.Prefix+job.Delivery, job.Request)
	case job.Recovery != "":
		return r.recover(ctx, company, job.Recovery)
	}
	return time.Time{}, queue.ErrPoison
}
