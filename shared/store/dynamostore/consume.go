package dynamostore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orgops/shared/store"
)

const (
	// maxBatch is how many records are asked for at a time.
	maxBatch = 256
	// maxUnfinishedBytes bounds the bodies of what is handed out and not finished, whatever its count.
	maxUnfinishedBytes = 16 << 20
	// againAfter is how long a batch that was not finished waits before it is handed over again; it doubles up to againAtMost.
	againAfter  = 100 * time.Millisecond
	againAtMost = 5 * time.Second
)

// Consume implements store.Feed by reading the table's stream: for a process that runs beside the table. (A Lambda is
// handed the stream's records, and makes changes of them by Record.)
//
// The stream is a tree of shards: a shard that grows too large or old ends, and others follow it. A shard is begun when
// the one it follows has been read to its end and all of it is finished, so a company's changes keep their order: DynamoDB
// keeps the items of a partition key in one shard as long as they are no more than a partition holds (10 GB, 1,000 writes
// a second), and within an item always.
//
// A batch that ends in done(err) is handed over again after 100 ms, and later after up to 5 s. Until then this consumer
// is handed nothing: no change is begun before an earlier one that failed has been handed over again.
//
// A change is a Replay unless it was read behind the end that its shard had when Consume began.
//
// The stream keeps 24 hours, no matter who has seen them. A consumer that was away for longer loses what is older; the
// logger is told.
func (s *Store) Consume(ctx context.Context, name string, handle func(context.Context, store.Batch, func(error))) error {
	if !slices.Contains(s.o.Consumers, name) {
		return fmt.Errorf("store: the feed was not opened with consumer %q", name)
	}
	if !s.busy.take(name) {
		return fmt.Errorf("store: %q is being consumed already", name)
	}
	defer s.busy.give(name)
	c := &consumer{
		store: s, name: name, handle: handle, shards: make(map[string]*shard),
		wake: make(chan struct{}, 1), moved: make(chan struct{}, 1),
	}
	if err := c.begin(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	stop := make(chan struct{})
	var saver sync.WaitGroup
	saver.Go(func() { c.save(context.WithoutCancel(ctx), stop) })
	c.run(ctx)
	c.drain()
	close(stop)
	saver.Wait()
	return nil
}

// names are the consumers at work.
type names struct {
	mu    sync.Mutex
	taken map[string]bool
}

func newNames() *names { return &names{taken: make(map[string]bool)} }

func (n *names) take(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.taken[name] {
		return false
	}
	n.taken[name] = true
	return true
}

func (n *names) give(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.taken, name)
}

// consumer is one Consume. What is not under the lock is its one goroutine's.
type consumer struct {
	store  *Store
	name   string
	arn    string // of the stream
	handle func(context.Context, store.Batch, func(error))
	wake   chan struct{} // there may be something to hand over; holds one
	moved  chan struct{} // a position moved; holds one

	lookedAt time.Time // when shards were last looked for
	lookSoon bool      // a shard ended: others follow it

	mu     sync.Mutex
	order  []*shard // as the stream lists them
	shards map[string]*shard
	open   int // changes handed out and not finished
	bytes  int // of their bodies
	failed int // batches that wait to be handed over again
}

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// run hands over batches until ctx ends.
func (c *consumer) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	failures := 0
	for ctx.Err() == nil {
		wait, err := c.turn(ctx)
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			failures++
			wait = again(failures)
			if failures == 1 {
				c.store.o.Logger.WarnContext(ctx, "the change stream cannot be read", "consumer", c.name, "error", err)
			}
		}
		if wait == 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// turn does what can be done now: hands over again what failed, or reads every shard once. wait says when to look again if
// nothing wakes the consumer before.
func (c *consumer) turn(ctx context.Context) (wait time.Duration, err error) {
	if b, wait := c.retry(); b != nil {
		c.hand(ctx, b)
		return 0, nil
	} else if wait > 0 {
		return wait, nil
	}
	if c.room() == 0 {
		return time.Hour, nil // a done wakes it
	}
	if err := c.look(ctx); err != nil {
		return 0, err
	}
	wait = c.store.o.Poll
	for _, sh := range c.ready() {
		room := c.room()
		if room == 0 || c.failing() {
			return 0, nil
		}
		read, err := c.read(ctx, sh, min(room, maxBatch))
		if err != nil {
			return 0, fmt.Errorf("shard %s: %w", sh.id, err)
		}
		if read {
			wait = 0
		}
	}
	return wait, nil
}

// room is how many changes more may be handed out.
func (c *consumer) room() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes >= maxUnfinishedBytes {
		return 0
	}
	return max(c.store.o.Unfinished-c.open, 0)
}

func (c *consumer) failing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed > 0
}

// ready are the shards to read: not at their end, and behind what they follow.
func (c *consumer) ready() []*shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*shard
	for _, sh := range c.order {
		parent := c.shards[sh.parent]
		if !sh.ended && (parent == nil || parent.ended && len(parent.batches) == 0) {
			out = append(out, sh)
		}
	}
	return out
}
