package stream

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

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
// handed over as a batch of its own, so that each has an outcome of its own, and several are at the same time: what a
// consumer has to read before it can start on one takes the others no time. So it is for one that needs no order.
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

const atOnce = 16 // changes that are handed over at the same time

// deliver hands over the changes and waits for the outcome of each. One that has none when ctx ends
// counts as failed. It may still finish when the process is woken for the next event; the repeat finds that it did.
func deliver(ctx context.Context, e Event, h handle, logger *slog.Logger) Answer {
	all := entries(ctx, e, logger)
	outcomes := make(chan outcome, len(all)) // room for all: who comes late does not wait
	open := map[int]bool{}
	for _, n := range all {
		open[n.index] = true
	}
	go func() {
		slots := make(chan struct{}, atOnce)
		for _, n := range all {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			go func() {
				defer func() { <-slots }()
				hand(ctx, h, n, outcomes)
			}()
		}
	}()
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

// outcome is what became of the change in a record.
type outcome struct {
	index int
	err   error
}

// hand hands over one change. A panic is its outcome: it runs beside the invocation, where nobody else recovers it.
func hand(ctx context.Context, h handle, n entry, outcomes chan<- outcome) {
	var once sync.Once
	done := func(err error) { once.Do(func() { outcomes <- outcome{n.index, err} }) }
	defer func() {
		if v := recover(); v != nil {
			done(fmt.Errorf("panic: %v: %s", v, debug.Stack()))
		}
	}()
	h(ctx, store.Batch{Changes: []store.Change{n.change}, Replay: true}, done)
}
