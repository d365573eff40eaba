package dynamostore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orgops/shared/store"
	"orgops/shared/store/handover"
)

// maxBatch is how many records are asked for at a time.
const maxBatch = 256

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
	if s.o.Stream == nil || !slices.Contains(s.o.Consumers, name) {
		return fmt.Errorf("store: the feed was not opened with consumer %q", name)
	}
	if !s.busy.take(name) {
		return fmt.Errorf("store: %q is being consumed already", name)
	}
	defer s.busy.give(name)
	c := &consumer{
		store: s, name: name, window: handover.New[string](s.o.Unfinished, handle), shards: make(map[string]*shard),
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
	c.window.Drain()
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
	arn    string                   // of the stream
	window *handover.Window[string] // a lane is a shard, a position a sequence number; "" is the shard's beginning

	lookedAt time.Time // when shards were last looked for
	lookSoon bool      // a shard ended: others follow it

	mu     sync.Mutex
	order  []*shard // as the stream lists them
	shards map[string]*shard
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
			wait = handover.Backoff(failures)
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
		case <-c.window.Wake:
		case <-timer.C:
		}
	}
}

// turn does what can be done now: hands over again what failed, or reads every shard that is due once. wait says when to look again if
// nothing wakes the consumer before.
func (c *consumer) turn(ctx context.Context) (wait time.Duration, err error) {
	b, wait, room := c.window.Next()
	switch {
	case b != nil:
		c.window.Hand(ctx, b)
		return 0, nil
	case wait > 0:
		return wait, nil
	case room == 0:
		return time.Hour, nil // a done wakes it
	}
	if err := c.look(ctx); err != nil {
		return 0, err
	}
	wait = c.store.o.Poll
	for _, sh := range c.ready() {
		if left := time.Until(sh.due); left > 0 {
			wait = min(wait, left)
			continue
		}
		room := c.window.Room()
		if room == 0 {
			return 0, nil
		}
		full, err := c.read(ctx, sh, min(room, maxBatch))
		if err != nil {
			return 0, fmt.Errorf("shard %s: %w", sh.id, err)
		}
		if full {
			wait = 0
		} else {
			sh.due = time.Now().Add(c.store.o.Poll)
		}
	}
	return wait, nil
}

// ready are the shards to read: not at their end, and behind what they follow.
func (c *consumer) ready() []*shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*shard
	for _, sh := range c.order {
		parent := c.shards[sh.parent]
		if !sh.ended && (parent == nil || parent.finished()) {
			out = append(out, sh)
		}
	}
	return out
}
