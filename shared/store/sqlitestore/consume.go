package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orgops/shared/store"
	"orgops/shared/store/handover"
)

// saveEvery is how often a position that moves is stored. What is finished and not stored when the process dies is handed
// over again.
const saveEvery = 50 * time.Millisecond

// Consume implements store.Feed.
//
// A batch that ends in done(err) is handed over again after 100 ms, and later after up to 5 s. Until then this consumer
// is handed nothing: no change is begun before an earlier one that failed has been handed over again. Batches that were
// under way at the time stay so. Hence a handle that calls done before it returns sees every change in strict order, and
// one that goes on working afterwards keeps the order within a company by itself, as it must anyway.
//
// Changes that were in the log when Consume began are a Replay, and so is a batch that is handed over again; later
// changes are not.
func (s *Store) Consume(ctx context.Context, name string, handle func(context.Context, store.Batch, func(error))) error {
	if !slices.Contains(s.o.Consumers, name) {
		return fmt.Errorf("store: the feed was not opened with consumer %q", name)
	}
	c := &consumer{store: s, name: name, window: handover.New[int64](s.o.Unfinished, handle)}
	if !s.feed.join(c) {
		return fmt.Errorf("store: %q is being consumed already", name)
	}
	defer s.feed.leave(c)
	if err := c.begin(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	stop := make(chan struct{})
	var saver sync.WaitGroup
	saved, _ := c.lane.Position()
	saver.Go(func() { c.save(context.WithoutCancel(ctx), stop, saved) })
	c.run(ctx)
	c.window.Drain()
	close(stop)
	saver.Wait()
	return nil
}

// consumer is one Consume.
type consumer struct {
	store  *Store
	name   string
	window *handover.Window[int64]
	lane   *handover.Lane[int64] // all of the log

	horizon int64 // what is not behind it is a replay
	cursor  int64 // handed out up to here; read by the feed, under its lock
}

func (c *consumer) signal() { handover.Signal(c.window.Wake) }

// begin finds where to start. The horizon is read from the log, not from memory, which may lag behind other processes.
func (c *consumer) begin(ctx context.Context) error {
	position, err := c.store.position(ctx, c.name)
	if err != nil {
		return fmt.Errorf("position of %s: %w", c.name, err)
	}
	if c.horizon, err = c.store.latest(ctx); err != nil {
		return fmt.Errorf("end of the change log: %w", err)
	}
	c.lane = c.window.Lane(position)
	c.store.feed.advance(c, position)
	c.store.feed.notice(c.horizon)
	return nil
}

// run hands over batches until ctx ends.
func (c *consumer) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	readFailures := 0
	for ctx.Err() == nil {
		b, wait, err := c.next(ctx)
		if err != nil {
			readFailures++
			wait = handover.Backoff(readFailures)
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

// next is the batch to hand over now. Without one, wait says when to look again if nothing wakes the consumer before; 0
// is never.
func (c *consumer) next(ctx context.Context) (b *handover.Batch[int64], wait time.Duration, err error) {
	b, wait, room := c.window.Next()
	if b != nil || room == 0 {
		return b, wait, nil // with neither a batch nor a wait, a done wakes it
	}
	changes, err := c.read(ctx, min(room, maxBatch))
	if err != nil || len(changes) == 0 {
		return nil, 0, err
	}
	return c.admit(changes), 0, nil
}

// admit makes a batch of changes and counts it as handed out.
func (c *consumer) admit(changes []logged) *handover.Batch[int64] {
	b := &handover.Batch[int64]{Changes: make([]store.Change, len(changes)), Last: changes[len(changes)-1].seq}
	b.Replay = b.Last <= c.horizon
	for i, l := range changes {
		b.Changes[i] = l.change
		b.Bytes += l.size
	}
	c.store.feed.advance(c, b.Last)
	c.lane.Admit(b.Last, b)
	return b
}

// read takes up to n changes behind the cursor, from memory where it has them, and never across the horizon.
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
