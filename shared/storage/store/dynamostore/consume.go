package dynamostore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/inflight"
)

// maxBatch limits the records per read.
const maxBatch = 256

// Consume implements store.Feed by reading the table's stream, for a process that runs outside Lambda. (A Lambda function
// receives the stream's records as events and converts them with Record.)
//
// The stream is a tree of shards. A shard that grows too large or too old ends, and child shards continue it. Consume starts
// a shard only when every change of the parent shard is finished. The changes of one item therefore always keep their order.
// A company whose items have outgrown one partition of DynamoDB (10 GB, 1,000 writes a second) has changes in several shards.
//
// If handle calls done with an error, Consume redelivers the batch after 100 ms; the delay doubles up to 5 s. Until then
// this consumer receives no other batch, so no change overtakes an earlier, failed one.
//
// A change is new only if it lies after the end that its shard had when Consume started. Every other change is a Replay.
//
// The stream keeps records for 24 hours, read or not. A consumer that stops for longer loses older changes, and Consume logs
// the loss.
func (s *Store) Consume(ctx context.Context, name string, handle func(context.Context, store.Batch, func(error))) error {
	if s.o.Stream == nil || !slices.Contains(s.o.Consumers, name) {
		return fmt.Errorf("store: the feed was not opened with consumer %q; list it in Options.Consumers", name)
	}
	if !s.busy.take(name) {
		return fmt.Errorf("store: consumer %q is already running in this process", name)
	}
	defer s.busy.give(name)
	c := &consumer{
		store: s, name: name, window: inflight.New[string](s.o.Unfinished, handle), shards: make(map[string]*shard),
	}
	if err := c.begin(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	c.window.Run(ctx, saveEvery, c.run, c.save)
	return nil
}

// names tracks the running consumers.
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

// consumer holds the state of one Consume. Its goroutine owns the fields that mu does not guard.
type consumer struct {
	store  *Store
	name   string
	arn    string                   // of the stream
	window *inflight.Window[string] // a track is a shard, a position a sequence number; "" is the shard's start

	lookedAt time.Time // when shards were last listed
	lookSoon bool      // a shard ended, so children may follow it

	mu     sync.Mutex
	order  []*shard // in the order of the stream's list
	shards map[string]*shard
}

// run hands batches over until ctx ends.
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
			wait = inflight.Backoff(failures)
			if failures == 1 {
				c.store.o.Logger.WarnContext(ctx, "change stream not readable; retrying", "consumer", c.name, "error", err)
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

// turn does what is due now: it redelivers a failed batch, or reads each due shard once. wait is the time until the next
// turn unless a signal wakes the consumer earlier.
func (c *consumer) turn(ctx context.Context) (wait time.Duration, err error) {
	b, wait, room := c.window.Next()
	switch {
	case b != nil:
		c.window.Hand(ctx, b)
		return 0, nil
	case wait > 0:
		return wait, nil
	case room == 0:
		return time.Hour, nil // the end of a batch wakes the consumer
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

// ready returns the shards to read. Such a shard has not ended, and it has no unfinished parent.
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
