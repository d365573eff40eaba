package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orgops/shared/store"
)

const (
	// firstBackoff is how long a batch that was not finished waits before it is handed over again; it doubles up to
	// lastBackoff.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// saveEvery is how often a position that moves is stored. What is finished and not stored when the process dies is
	// handed over again.
	saveEvery = 50 * time.Millisecond
	// maxUnfinishedBytes bounds the bodies of what is handed out and not finished, whatever its count.
	maxUnfinishedBytes = 16 << 20
)

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
	c := &consumer{store: s, name: name, handle: handle, wake: make(chan struct{}, 1), moved: make(chan struct{}, 1)}
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
	saved := c.position
	saver.Go(func() { c.save(context.WithoutCancel(ctx), stop, saved) })
	c.run(ctx)
	c.drain()
	close(stop)
	saver.Wait()
	return nil
}

// consumer is one Consume.
type consumer struct {
	store  *Store
	name   string
	handle func(context.Context, store.Batch, func(error))
	wake   chan struct{} // there may be something to hand over; holds one
	moved  chan struct{} // the position moved; holds one

	horizon int64 // what is not behind it is a replay
	cursor  int64 // handed out up to here; read by the feed, under its lock

	mu       sync.Mutex
	batches  []*batch // handed out and not behind the position, in feed order
	open     int      // changes of those not finished
	bytes    int      // of their bodies
	failed   int      // batches that wait to be handed over again
	position int64
}

func (c *consumer) signal() { poke(c.wake) }

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// begin finds where to start. The horizon is read from the log, not from memory, which may lag behind other processes.
func (c *consumer) begin(ctx context.Context) error {
	position, err := c.store.position(ctx, c.name)
	if err != nil {
		return fmt.Errorf("position of %s: %w", c.name, err)
	}
	if c.horizon, err = c.store.latest(ctx); err != nil {
		return fmt.Errorf("end of the change log: %w", err)
	}
	c.position = position
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
			wait = backoff(readFailures)
		} else {
			readFailures = 0
		}
		if b != nil {
			c.hand(ctx, b)
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-due:
		}
	}
}

// next is the batch to hand over now. Without one, wait says when to look again if nothing wakes the consumer before; 0
// is never.
func (c *consumer) next(ctx context.Context) (b *batch, wait time.Duration, err error) {
	c.mu.Lock()
	if c.failed > 0 {
		b, wait = c.retry()
		c.mu.Unlock()
		return b, wait, nil
	}
	room := c.store.o.Unfinished - c.open
	full := room <= 0 || c.bytes >= maxUnfinishedBytes
	c.mu.Unlock()
	if full {
		return nil, 0, nil // a done wakes it
	}
	changes, err := c.read(ctx, min(room, maxBatch))
	if err != nil || len(changes) == 0 {
		return nil, 0, err
	}
	return c.admit(changes), 0, nil
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
