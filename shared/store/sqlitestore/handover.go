package sqlitestore

import (
	"context"
	"sync"
	"time"

	"orgops/shared/store"
)

// batch is a run of changes on its way.
type batch struct {
	changes []store.Change // nil when finished
	replay  bool
	last    int64
	bytes   int
	tries   int
	again   time.Time // when it failed: not handed over before
}

// admit makes a batch of changes and counts it as handed out.
func (c *consumer) admit(changes []logged) *batch {
	b := &batch{changes: make([]store.Change, len(changes)), last: changes[len(changes)-1].seq}
	b.replay = b.last <= c.horizon
	for i, l := range changes {
		b.changes[i] = l.change
		b.bytes += l.size
	}
	c.store.feed.advance(c, b.last)
	c.mu.Lock()
	c.batches = append(c.batches, b)
	c.open += len(b.changes)
	c.bytes += b.bytes
	c.mu.Unlock()
	return b
}

func (c *consumer) hand(ctx context.Context, b *batch) {
	var once sync.Once
	c.handle(ctx, store.Batch{Changes: b.changes, Replay: b.replay}, func(err error) {
		once.Do(func() { c.finish(b, err) })
	})
}

// finish takes the end of a batch, good or bad.
func (c *consumer) finish(b *batch, err error) {
	c.mu.Lock()
	if err != nil {
		b.tries++
		b.again = time.Now().Add(backoff(b.tries))
		c.failed++
	} else {
		c.open -= len(b.changes)
		c.bytes -= b.bytes
		b.changes = nil
	}
	from := c.position
	for len(c.batches) > 0 && c.batches[0].changes == nil {
		c.position = c.batches[0].last
		c.batches[0] = nil
		c.batches = c.batches[1:]
	}
	moved := c.position != from
	c.mu.Unlock()
	if moved {
		poke(c.moved)
	}
	c.signal()
}

// drain waits until no batch is under way. Those that failed stay unfinished, for the next Consume.
func (c *consumer) drain() {
	for {
		c.mu.Lock()
		idle := true
		for _, b := range c.batches {
			idle = idle && (b.changes == nil || !b.again.IsZero())
		}
		c.mu.Unlock()
		if idle {
			return
		}
		<-c.wake
	}
}

// retry is the first batch that failed, if its time has come.
func (c *consumer) retry() (*batch, time.Duration) {
	for _, b := range c.batches {
		if b.again.IsZero() {
			continue
		}
		if wait := time.Until(b.again); wait > 0 {
			return nil, wait
		}
		b.again, b.replay = time.Time{}, true
		c.failed--
		return b, 0
	}
	return nil, 0
}

func backoff(tries int) time.Duration {
	return min(firstBackoff<<min(tries-1, 10), lastBackoff)
}
