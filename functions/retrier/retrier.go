// Package retrier makes every attempt but the first, and processes recoveries. It takes due messages from the queue and
// decides from the delivery's record, so a message that arrives early, late or twice is harmless. It attempts the deliveries of a
// recovery itself, without a message for each, unless they stand in lines.
package retrier

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/selecting"
	"orgops/shared/run/boot"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/endpoint"
)

// Retrier makes due attempts. Make one with New.
type Retrier struct {
	Deps
	selector selecting.Selector
}

// Deps holds what a Retrier works with.
type Deps struct {
	Store   store.Store
	Courier *courier.Courier
	Queue   queue.Queue
	Logger  *slog.Logger
	Now     func() time.Time
}

// inHand bounds the messages in hand: as many as there are slots for attempts, and some more, so that attempts which take
// long leave room to decide on other messages.
const inHand = courier.TotalSlots + 256

// New makes a retrier; Run starts it.
func New(d Deps) *Retrier {
	return &Retrier{Deps: d}
}

// From makes a retrier from the service's parts.
func From(s *boot.Services) *Retrier {
	return New(Deps{Store: s.Store, Courier: s.Courier(), Queue: s.Retries, Logger: s.Logger, Now: s.Now})
}

// Run handles messages until ctx ends, then waits for the attempts in flight.
func (r *Retrier) Run(ctx context.Context) { r.Worker().Run(ctx) }

// Worker returns the worker that takes messages from the queue and settles them.
func (r *Retrier) Worker() queue.Worker {
	return queue.Worker{Queue: r.Queue, Handle: r.Handle, Logger: r.Logger, Lease: sendLease, Slots: inHand, Take: queue.MaxBatch}
}

// Handle processes the delivery or the recovery that a message names. due tells when to redeliver the message; zero means
// never.
func (r *Retrier) Handle(ctx context.Context, m queue.Received) (due time.Time, err error) {
	var job delivery.Job
	if err := json.Unmarshal(m.Body, &job); err != nil || job.Company == "" {
		return time.Time{}, queue.ErrPoison
	}
	company := store.For(r.Store, job.Company)
	switch {
	case job.Delivery != "":
		return r.deliver(ctx, company, job, m.Receives > 1)
	case job.Recovery != "":
		return r.recover(ctx, company, job)
	}
	return time.Time{}, queue.ErrPoison
}

// deliver asks for the due attempt of a delivery. due tells when to redeliver the message; zero means never. The record of a
// failed attempt asks for the next message, as every record of a scheduled delivery does. So all copies of a message end with
// its attempt. again reports that the message was received before.
func (r *Retrier) deliver(ctx context.Context, company store.Company, job delivery.Job, again bool) (due time.Time, err error) {
	o := r.Courier.Run(ctx, &courier.Task{
		Source: courier.Queue, Company: company, Key: delivery.Prefix + job.Delivery, Incarnation: job.Incarnation,
		Generation: job.Generation, Again: again, Failing: r.failing, Select: r.selector.Again,
	})
	return o.Until, o.Err
}

// failing tells since when an endpoint has been failing, zero if it is not. The company's context records it.
func (r *Retrier) failing(ctx context.Context, e *endpoint.Endpoint) time.Time {
	c, _, err := projection.Load(ctx, e.Company)
	if err != nil {
		r.Logger.WarnContext(ctx, "company context not read", "company", e.Company.ID(), "error", err)
		return time.Time{}
	}
	if c.Incarnations[e.Provider] != e.Incarnation { // the context does not show the endpoint yet
		return time.Time{}
	}
	return c.Integrations[e.Provider].FailingSince
}
