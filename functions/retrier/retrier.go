// Package retrier makes every attempt but the first, and works on recoveries. It takes due messages from the queue,
// but what is true stands in the delivery's record: a message that comes too early, twice or too late does no harm.
package retrier

import (
	"context"
	"encoding/json"
	"errors"
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
	// working holds the deliveries that an attempt is under way for. There may be two messages for one, and an endpoint
	// is not to be sent the same thing twice at once for that.
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

// poisonAfter is how often a message may be handed out without being settled before it is buried.
const poisonAfter = 20

// New is a retrier at rest.
func New(d Deps) *Retrier {
	return &Retrier{Deps: d, lanes: webhook.NewLanes(perEndpoint, perCompany, total)}
}

// Run takes messages until ctx ends, then waits for the attempts under way.
func (r *Retrier) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	slots := make(chan struct{}, total)
	for ctx.Err() == nil {
		received, err := r.Queue.Receive(ctx, queue.MaxBatch, lease)
		if err != nil && ctx.Err() == nil {
			r.Logger.ErrorContext(ctx, "receive retries", "error", err)
			pause(ctx, time.Second)
		}
		for _, m := range received {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return // what was not begun comes again when its lease ends
			}
			working.Go(func() {
				defer func() { <-slots }()
				r.settle(context.WithoutCancel(ctx), m)
			})
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errPoison = errors.New("not a delivery job")

// settle handles one message and acknowledges it, puts it off, or buries it.
func (r *Retrier) settle(ctx context.Context, m queue.Received) {
	due, err := r.Handle(ctx, m.Body)
	switch {
	case errors.Is(err, errPoison) || err != nil && m.Receives >= poisonAfter:
		r.Logger.ErrorContext(ctx, "retry buried", "error", err)
		err = r.Queue.Bury(ctx, m, err.Error())
	case err != nil:
		r.Logger.ErrorContext(ctx, "retry", "error", err)
		return // handed out again when its lease is over, and counted
	case !due.IsZero():
		err = r.Queue.Defer(ctx, m, due)
	default:
		err = r.Queue.Ack(ctx, m)
	}
	if err != nil {
		r.Logger.ErrorContext(ctx, "settle retry", "error", err)
	}
}

// Handle works on what a message names. due is when the message is to come back; zero means never.
func (r *Retrier) Handle(ctx context.Context, body []byte) (due time.Time, err error) {
	var job delivery.Job
	if err := json.Unmarshal(body, &job); err != nil || job.Company == "" {
		return time.Time{}, errPoison
	}
	company := store.For(r.Store, job.Company)
	switch {
	case job.Delivery != "":
		return r.deliver(ctx, company, delivery.Prefix+job.Delivery, job.Request)
	case job.Recovery != "":
		return r.recover(ctx, company, job.Recovery)
	}
	return time.Time{}, errPoison
}
