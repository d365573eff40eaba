package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/wait"
)

// ErrPoison is what a Handler answers for a message that no try will ever make sense of.
var ErrPoison = errors.New("not a message of this queue")

// Handler works on the body of a message. due is when the message is to come back, zero when it is done with. A message
// whose handler errs is handed out again when its lease is over.
type Handler func(ctx context.Context, body []byte) (due time.Time, err error)

// Worker takes messages from a queue and has them handled.
type Worker struct {
	Queue  Queue
	Handle Handler
	Logger *slog.Logger
	Lease  time.Duration // how long others keep away from a message; handling one takes less
	Slots  int           // messages under way at a time
	Take   int           // messages taken at a time, MaxBatch at most
}

// poisonAfter is how often a message may be handed out without being settled before it is buried.
const poisonAfter = 20

// Run takes messages until ctx ends, then waits for those under way.
func (w Worker) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	slots := make(chan struct{}, w.Slots)
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}: // a message is only taken when somebody can work on it
		case <-ctx.Done():
			return
		}
		<-slots
		received, err := w.Queue.Receive(ctx, w.Take, w.Lease)
		if err != nil && ctx.Err() == nil {
			w.Logger.ErrorContext(ctx, "receive messages", "error", err)
			wait.For(ctx, time.Second)
		}
		for _, r := range received {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return // what was not begun comes again when its lease ends
			}
			working.Go(func() {
				defer func() { <-slots }()
				w.Settle(ctx, r)
			})
		}
	}
}

// Settle handles one message and acknowledges it, puts it off, buries it, or leaves it to its lease.
func (w Worker) Settle(ctx context.Context, r Received) {
	due, err := w.Handle(ctx, r.Body)
	ctx = context.WithoutCancel(ctx) // what was done is acknowledged even while shutting down
	switch {
	case errors.Is(err, ErrPoison) || err != nil && r.Receives >= poisonAfter:
		w.Logger.ErrorContext(ctx, "message buried", "error", err)
		err = w.Queue.Bury(ctx, r, err.Error())
	case err != nil:
		w.Logger.ErrorContext(ctx, "message not handled", "receives", r.Receives, "error", err)
		return
	case !due.IsZero():
		err = w.Queue.Defer(ctx, r, due)
	default:
		err = w.Queue.Ack(ctx, r)
	}
	if err != nil {
		w.Logger.ErrorContext(ctx, "settle message", "error", err)
	}
}
