package stream

import (
	"context"
	"log/slog"
	"time"

	"orgops/shared/store"
)

// handle is what a consumer has batches handed to.
type handle = func(ctx context.Context, b store.Batch, done func(error))

// feed is a store.Feed of what Lambda delivers.
type feed struct{ consumer chan handle }

// Consume implements store.Feed, for one consumer.
func (f feed) Consume(ctx context.Context, _ string, h handle) error {
	f.consumer <- h
	<-ctx.Done()
	return nil
}

// Run is for a consumer that has work of its own between batches: it runs as long as the process lives. Each change is
// handed over as a batch of its own, so that each has an outcome of its own.
func Run(consume func(context.Context, store.Feed) error, logger *slog.Logger) func(context.Context, Event) (Answer, error) {
	f := feed{consumer: make(chan handle)}
	go func() {
		if err := consume(context.Background(), f); err != nil {
			logger.Error("the consumer of the stream ended", "error", err)
		}
	}()
	h := <-f.consumer
	return func(ctx context.Context, e Event) (Answer, error) { return deliver(ctx, e, h, logger), nil }
}

// answerBefore is how long before the function's end what is unfinished is given up, and so delivered again.
const answerBefore = 5 * time.Second

// deliver waits for the outcome of every change. One that takes too long counts as failed. It may still finish when the
// process is woken for the next event; the repeat finds that it did.
func deliver(ctx context.Context, e Event, h handle, logger *slog.Logger) Answer {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-answerBefore))
		defer cancel()
	}
	type outcome struct {
		index int
		err   error
	}
	all := entries(ctx, e, logger)
	outcomes := make(chan outcome, len(all)) // room for all: who comes late does not wait
	open := map[int]bool{}
	for _, n := range all {
		open[n.index] = true
		h(ctx, store.Batch{Changes: []store.Change{n.change}, Replay: true}, func(err error) { outcomes <- outcome{n.index, err} })
	}
	failed := first{index: -1}
	for len(open) > 0 {
		select {
		case o := <-outcomes:
			delete(open, o.index)
			if o.err != nil {
				logger.WarnContext(ctx, "a change is delivered again", "error", o.err)
				failed.at(o.index)
			}
		case <-ctx.Done():
			logger.WarnContext(ctx, "changes are delivered again", "changes", len(open), "error", ctx.Err())
			for index := range open {
				failed.at(index)
			}
			return from(e, failed.index)
		}
	}
	return from(e, failed.index)
}
