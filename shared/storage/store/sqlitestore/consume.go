package sqlitestore

import (
	"context"
	"fmt"
	"slices"
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
// If handle always calls done before it returns, it receives all changes in order. If it calls done later, it must keep each
// company's order itself.
//
// A batch is a Replay if its changes were in the log when Consume started, or if it is redelivered. Other batches are new.
func (s *Store) Consume(ctx context.Context, name string, handle func(context.Context, store.Batch, func(error))) error {
	if !slices.Contains(s.o.Consumers, name) {
		return fmt.Errorf("store: the feed was not opened with consumer %q; list it in Options.Consumers", name)
	}
	c := &consumer{store: s, name: name, window: inflight.New[int64](s.o.Unfinished, handle)}
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
	c.saved, _ = c.track.Position()
	c.window.Run(ctx, saveEvery, c.run, c.save)
	return nil
}

// consumer holds the state of one Consume.
type consumer struct {
	store  *Store
	name   string
	window *inflight.Window[int64]
	track  *inflight.Track[int64] // the whole log

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
		b, wait, err := c.next(ctx)
		if err != nil {
			readFailures++
			wait = inflight.Backoff(readFailures)
		} else {
			readFailures = 0
		}
		if b != nil {
			c.window.Hand(ctx, b)
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

// next returns the batch to hand over now. Without a batch, wait is the time until the next call; 0 means no limit. A signal
// wakes the consumer earlier.
func (c *consumer) next(ctx context.Context) (b *inflight.Batch[int64], wait time.Duration, err error) {
	b, wait, room := c.window.Next()
	if b != nil || room == 0 {
		return b, wait, nil // with neither a batch nor a wait, the end of a batch wakes the consumer
	}
	changes, err := c.read(ctx, min(room, maxBatch))
	if err != nil || len(changes) == 0 {
		return nil, 0, err
	}
	return c.admit(changes), 0, nil
}

// admit makes a batch of changes and counts it as in flight.
func (c *consumer) admit(changes []logged) *inflight.Batch[int64] {
	b := &inflight.Batch[int64]{Changes: make([]store.Change, len(changes)), Last: changes[len(changes)-1].seq}
	b.Replay = b.Last <= c.horizon
	for i, l := range changes {
		b.Changes[i] = l.change
		b.Bytes += l.size
	}
	c.store.feed.advance(c, b.Last)
	c.track.Admit(b.Last, b)
	return b
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
		if changes, err = c.store.readLog(ctx, c.cursor, last, n); err != nil {
			return nil, err
		}
	}
	if last > 0 {
		beyond, _ := slices.BinarySearchFunc(changes, last+1, func(l logged, seq int64) int { return int(l.seq - seq) })
		changes = changes[:beyond]
	}
	return changes, nil
}
