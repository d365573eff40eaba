package stream

import (
	"context"
	"sync"

	"orgops/shared/base/memo"
	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
)

// handle receives a consumer's batches.
type handle = func(ctx context.Context, b store.Batch, done func(error))

// feed implements store.Feed with the changes that Lambda delivers.
type feed struct{ consumer chan handle }

// Consume implements store.Feed, for one consumer.
func (f feed) Consume(ctx context.Context, _ string, h handle) error {
	f.consumer <- h
	<-ctx.Done()
	return nil
}

// Run serves a consumer that may work between batches, as long as the process lives, and needs the order of each item's
// changes only. Run delivers each change as its own batch, those of several items concurrently. So each change has its own
// outcome, and a read for one item does not delay the others. All changes of an event share a memo.
func Run(consume func(context.Context, store.Feed) error, lot parked.Lot) func(context.Context, Event) (Answer, error) {
	f := feed{consumer: make(chan handle)}
	go func() {
		if err := consume(context.Background(), f); err != nil {
			lot.Logger.Error("stream consumer ended", "error", err)
		}
	}()
	h := <-f.consumer
	return carefully(func(ctx context.Context, e Event) result { return deliver(memo.With(ctx), e, h, lot) }, lot)
}

const atOnce = 16 // items whose changes are delivered concurrently

// deliver delivers the changes and waits for their outcomes. A change that has no outcome when ctx ends counts as failed.
// Its work may still finish when the next event wakes the process. The redelivered change then finds the work done.
func deliver(ctx context.Context, e Event, h handle, lot parked.Lot) result {
	all, unparked := entries(ctx, e, lot)
	outcomes := make(chan outcome, len(all)) // buffered for all, so that a late outcome does not block
	open := map[int]bool{}
	for _, n := range all {
		open[n.index] = true
	}
	go func() {
		slots := make(chan struct{}, atOnce)
		for _, changes := range byItem(all) {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			go func() {
				defer func() { <-slots }()
				for _, n := range changes {
					hand(ctx, h, n, lot, outcomes)
				}
			}()
		}
	}()
	failed := first{index: unparked}
	for len(open) > 0 {
		select {
		case o := <-outcomes:
			delete(open, o.index)
			if o.err != nil {
				lot.Logger.WarnContext(ctx, "change failed; it will be redelivered", "error", o.err)
				failed.at(o.index)
			}
		case <-ctx.Done():
			lot.Logger.WarnContext(ctx, "changes not finished in time; they will be redelivered", "changes", len(open), "error", ctx.Err())
			for index := range open {
				failed.at(index)
			}
			return result{failed.index, true}
		}
	}
	return result{failed.index, false}
}

// byItem groups changes by their items, in the order of each item's first change.
func byItem(all []entry) (items [][]entry) {
	type item struct{ company, key string }
	places := map[item]int{}
	for _, n := range all {
		id := item{n.change.Company, n.change.Key}
		place, known := places[id]
		if !known {
			place = len(items)
			places[id], items = place, append(items, nil)
		}
		items[place] = append(items[place], n)
	}
	return items
}

// outcome holds the result of the change in a record.
type outcome struct {
	index int
	err   error
}

// hand delivers one change. It parks a change whose handling panics, because Guard does not cover this goroutine, and a
// redelivery would most likely panic again.
func hand(ctx context.Context, h handle, n entry, lot parked.Lot, outcomes chan<- outcome) {
	var once sync.Once
	done := func(err error) { once.Do(func() { outcomes <- outcome{n.index, err} }) }
	defer func() {
		if v := recover(); v != nil {
			once.Do(func() { outcomes <- outcome{n.index, lot.Park(ctx, n.change, panicked(v))} })
		}
	}()
	h(ctx, store.Batch{Changes: []store.Change{n.change}, Replay: true}, done)
}
