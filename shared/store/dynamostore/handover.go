package dynamostore

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"orgops/shared/store"
)

// batch is a run of a shard's changes on its way.
type batch struct {
	shard   *shard
	changes []store.Change // nil when finished
	replay  bool
	last    string // the sequence number up to which it covers the shard
	bytes   int
	tries   int
	again   time.Time // when it failed: not handed over before
}

// admit counts a page's batches as handed out and moves the cursor over the page. Both happen at once: where nothing is
// unfinished, the position is the cursor.
func (c *consumer) admit(sh *shard, batches []*batch, page []types.Record) {
	if len(page) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sh.cursor = recordOf(page[len(page)-1]).Sequence
	for _, b := range batches {
		b.bytes = bodies(b.changes)
		sh.batches = append(sh.batches, b)
		c.open += len(b.changes)
		c.bytes += b.bytes
	}
}

// bodies is how many bytes the changes' bodies have.
func bodies(changes []store.Change) (n int) {
	for _, change := range changes {
		for _, image := range []*store.Image{change.Old, change.New} {
			if image != nil {
				n += len(image.Body)
			}
		}
	}
	return n
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
		b.again = time.Now().Add(again(b.tries))
		c.failed++
	} else {
		c.open -= len(b.changes)
		c.bytes -= b.bytes
		b.changes = nil
	}
	moved := b.shard.advance()
	c.mu.Unlock()
	if moved {
		poke(c.moved)
	}
	poke(c.wake)
}

// keep makes a batch, not handed over yet, wait with those that failed before it.
func (c *consumer) keep(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.again = time.Now()
	c.failed++
}

// advance moves the shard's position over what is finished. The consumer's lock is held.
func (sh *shard) advance() (moved bool) {
	for len(sh.batches) > 0 && sh.batches[0].changes == nil {
		sh.position, moved = sh.batches[0].last, true
		sh.batches[0] = nil
		sh.batches = sh.batches[1:]
	}
	if moved && len(sh.batches) == 0 {
		sh.position = sh.cursor // what came since was not for the feed
	}
	return moved
}

// retry is the first batch that failed, if its time has come, or else how long until then.
func (c *consumer) retry() (*batch, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == 0 {
		return nil, 0
	}
	for _, sh := range c.order {
		for _, b := range sh.batches {
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
	}
	return nil, 0
}

// drain waits until no batch is under way. Those that failed stay unfinished, for the next Consume.
func (c *consumer) drain() {
	for !c.idle() {
		<-c.wake
	}
}

func (c *consumer) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sh := range c.order {
		for _, b := range sh.batches {
			if b.changes != nil && b.again.IsZero() {
				return false
			}
		}
	}
	return true
}

func again(tries int) time.Duration {
	return min(againAfter<<min(tries-1, 10), againAtMost)
}
