package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/inflight"
)

// saveEvery limits how often a position that moved is stored. After a crash, Consume redelivers the changes that were
// finished after the last save.
const saveEvery = 50 * time.Millisecond

// Consume implements store.Feed.
//
// If handle calls done with an error, Consume redelivers the batch after 100 ms; the delay doubles up to 5 s. Until then
// this consumer receives no other batch, so no change overtakes an earlier, failed one. Batches already in flight continue.
// A company that has its share of the changes in flight holds back no other: see behind.
// If handle always calls done before it returns, it receives all changes in order. If it calls done later, it must keep each
// company's order itself.
//
// A batch is a Replay if its changes were in the log when Consume started, or if it is redelivered. Other batches are new.
func (s *Store) Consume(ctx context.Context, name string, handle func(context.Context, store.Batch, func(error))) error {
	if !slices.Contains(s.o.Consumers, name) {
		return fmt.Errorf("store: the feed was not opened with consumer %q; list it in Options.Consumers", name)
	}
	c := &consumer{store: s, name: name, window: inflight.New[int64](s.o.Unfinished, handle), behind: make(map[string]*behind)}
	if !s.feed.join(c) {
		return fmt.Errorf("store: consumer %q is already running in this process", name)
	}
	defer s.feed.leave(c)
	if err := c.begin(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	c.saved = c.finished()
	c.window.Run(ctx, saveEvery, c.run, c.save)
	return nil
}

// consumer holds the state of one Consume.
type consumer struct {
	store  *Store
	name   string
	window *inflight.Window[int64]
	track  *inflight.Track[int64] // the whole log
	mu     sync.Mutex
	behind map[string]*behind // by company; the consumer's goroutine writes it, under mu

	saved   int64 // the stored position; owned by save while Run runs
	horizon int64 // changes up to here are replays
	cursor  int64 // handed over up to here; guarded by the feed's lock
}

func (c *consumer) signal() { inflight.Signal(c.window.Wake) }

// begin finds the position and the horizon. It reads the horizon from the log, because memory may lack the changes of other
// processes.
func (c *consumer) begin(ctx context.Context) error {
	position, err := c.store.position(ctx, c.name)
	if err != nil {
		return fmt.Errorf("position of %s: %w", c.name, err)
	}
	if c.horizon, err = c.store.latest(ctx); err != nil {
		return fmt.Errorf("end of the change log: %w", err)
	}
	c.track = c.window.Track(position)
	c.store.feed.advance(c, position)
	c.store.feed.notice(c.horizon)
	return nil
}

// run hands batches over until ctx ends.
func (c *consumer) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	readFailures := 0
	for ctx.Err() == nil {
		batches, wait, err := c.next(ctx)
		if err != nil {
			readFailures++
			wait = inflight.Backoff(readFailures)
		} else {
			readFailures = 0
		}
		for i, b := range batches {
			if i > 0 && c.window.Failing() {
				c.window.Keep(b)
			} else {
				c.window.Hand(ctx, b)
			}
		}
		if len(batches) > 0 {
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-c.window.Wake:
		case <-due:
		}
	}
}

// next returns the batches to hand over now. Without one, wait is the time until the next call; 0 means no limit. A signal
// wakes the consumer earlier.
func (c *consumer) next(ctx context.Context) (batches []*batch, wait time.Duration, err error) {
	b, wait, room := c.window.Next()
	if b != nil {
		return []*batch{b}, 0, nil
	}
	if room == 0 {
		return nil, wait, nil // with neither a batch nor a wait, the end of a batch wakes the consumer
	}
	if batches, err = c.catchUp(ctx, min(room, maxBatch)); err != nil || len(batches) > 0 {
		return batches, 0, err
	}
	for len(batches) == 0 {
		changes, err := c.read(ctx, min(room, maxBatch))
		if err != nil || len(changes) == 0 {
			return nil, 0, err
		}
		batches = c.admit(changes)
	}
	return batches, 0, nil
}

// admit makes batches of the changes that are not left for later, and counts them as in flight.
func (c *consumer) admit(changes []logged) []*batch {
	last := changes[len(changes)-1].seq
	var batches []*batch
	// The usual case: no company's changes are looked at apart. That takes a tenth off the time from the sync to the attempt.
	if len(c.behind) == 0 && c.window.Calm(len(changes)) {
		batches = []*batch{c.batch(changes, last)}
	} else {
		batches = c.batches(c.pick(changes), c.cursor, last)
	}
	c.store.feed.advance(c, last)
	if len(batches) == 0 {
		c.track.Pass(last)
	} else {
		c.track.Admit(last, batches...)
	}
	return batches
}

// read returns up to n changes after the cursor, from memory if possible. The changes lie either all before the horizon or
// all after it.
func (c *consumer) read(ctx context.Context, n int) ([]logged, error) {
	last := int64(0)
	if c.cursor < c.horizon {
		last = c.horizon
	}
	changes, missing := c.store.feed.after(c.cursor, n)
	if missing {
		var err error
		if changes, err = c.store.readLog(ctx, "", c.cursor, last, n); err != nil {
			return nil, err
		}
	}
	if last > 0 {
		beyond, _ := slices.BinarySearchFunc(changes, last+1, func(l logged, seq int64) int { return int(l.seq - seq) })
		changes = changes[:beyond]
	}
	return changes, nil
}
