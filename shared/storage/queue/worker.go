package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/base/wait"
)

// ErrPoison marks a message that no retry can process. A Handler returns it.
var ErrPoison = errors.New("not a message of this queue")

// Handler processes a message. It returns the time of the next delivery, or zero to acknowledge the message. If it returns
// an error, the queue redelivers the message soon: see Backoff.
type Handler func(ctx context.Context, r Received) (due time.Time, err error)

// Worker receives messages from a queue and calls Handle for each.
type Worker struct {
	Queue  Queue
	Handle Handler
	Logger *slog.Logger
	Lease  time.Duration // hides a message from other workers; longer than handling takes
	Slots  int           // messages in flight at most
	Take   int           // messages per receive, at most MaxBatch
}

// Bounds of the wait before a message that was not handled is delivered again.
const (
	leastBackoff = time.Second
	mostBackoff  = 30 * time.Minute
)

// Backoff returns how long a message waits after its n-th delivery failed: one second, then twice as long each time, up to
// half an hour. A short fault delays a message by seconds, and all of its deliveries take five hours.
func Backoff(n int) time.Duration {
	return min(leastBackoff<<min(max(n-1, 0), 20), mostBackoff)
}

// poisonAfter limits the deliveries of a message. If the last delivery fails too, the worker buries the message.
const poisonAfter = 20

// Run consumes messages until ctx ends, then waits for those in flight.
func (w Worker) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	slots := make(chan struct{}, w.Slots)
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}: // receive only when a slot is free to handle a message
		case <-ctx.Done():
			return
		}
		<-slots
		received, err := w.Queue.Receive(ctx, w.Take, w.Lease)
		if err != nil && ctx.Err() == nil {
			w.Logger.ErrorContext(ctx, "messages not received", "error", err)
			wait.For(ctx, time.Second)
		}
		for _, r := range received {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return // messages not started are redelivered when their lease expires
			}
			working.Go(func() {
				defer func() { <-slots }()
				w.Settle(ctx, r)
			})
		}
	}
}

// Settle handles one message, then acknowledges, defers or buries it. After an error that a retry may solve, Settle shortens
// the lease to the message's Backoff.
func (w Worker) Settle(ctx context.Context, r Received) {
	due, err := w.Handle(ctx, r)
	ctx = context.WithoutCancel(ctx) // finished work is acknowledged even during shutdown
	switch {
	case errors.Is(err, ErrPoison) || err != nil && r.Receives >= poisonAfter:
		w.Logger.ErrorContext(ctx, "message buried", "error", err)
		err = w.Queue.Bury(ctx, r, err.Error())
	case err != nil:
		w.Logger.ErrorContext(ctx, "message not handled", "receives", r.Receives, "error", err)
		err = w.Queue.Release(ctx, r, Backoff(r.Receives))
	case !due.IsZero():
		err = w.Queue.Defer(ctx, r, due)
	default:
		err = w.Queue.Ack(ctx, r)
	}
	if err != nil {
		w.Logger.ErrorContext(ctx, "message not settled", "error", err)
	}
}
