package courier

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// Serve stores the records of the Feed's tasks while consume gives them. When consume has returned, the waiting tasks are recorded as
// due later, and the attempts in flight end.
func (c *Courier) Serve(ctx context.Context, consume func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var writing, relieving sync.WaitGroup
	written := make(chan struct{})
	writing.Go(func() { c.writer.run(ctx, written) })
	relieving.Go(func() { c.relieve(ctx) })
	err := consume(ctx)
	stop()
	relieving.Wait()
	close(written) // consume has waited for every batch, so nothing more is stored
	writing.Wait()
	return err
}

// relieve records tasks as due later that have waited too long for a slot. A waiting task keeps its batch unfinished, and the
// feed limits the number of unfinished batches. When ctx ends, relieve records every waiting task.
func (c *Courier) relieve(ctx context.Context) {
	tick := time.NewTicker(relieveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.postpone(c.slots.relieve())
		case <-ctx.Done():
			c.postpone(c.slots.close())
			return
		}
	}
}

func (c *Courier) postpone(tasks []*Task) {
	for _, t := range tasks {
		t.phase = c.later(context.Background(), t, Outcome{Until: c.soon()})
		c.advance(context.Background(), t, ended)
	}
}

// first gives a task of the Feed a slot or a place in its lane. It makes no attempt that may have been made before: the delivery is
// recorded first, and the Queue makes it.
func (c *Courier) first(ctx context.Context, t *Task) phase {
	if t.Replayed {
		_, err := t.Company.Get(ctx, t.Key, nil)
		if !errors.Is(err, store.ErrNotFound) { // it is recorded, or the store does not answer
			return c.finish(t, err)
		}
	}
	switch {
	case !t.Again && c.records.full() && !c.records.writable(t.slot.Company):
		return c.finish(t, errOpen)
	case t.Again, !c.slots.enter(t):
		return c.later(ctx, t, Outcome{Until: c.soon()})
	}
	return waiting
}

// work makes the attempts of a lane, one after the other, as long as a task gets a slot.
func (c *Courier) work(t *Task) {
	for t != nil {
		slot := t.slot // when its record is written, t belongs to its source again
		t.phase = placed
		c.advance(context.Background(), t, ended)
		t = c.slots.next(slot)
	}
}

// finish ends a task of the Feed whose record is stored, or cannot be, and returns it to its source.
func (c *Courier) finish(t *Task, err error) phase {
	c.end(context.Background(), t, Outcome{Err: err})
	t.Done(t.outcome)
	return returned
}

// stored takes a task from the writer. An attempt that is not recorded is kept, so that a redelivery of its change makes no other.
func (c *Courier) stored(t *Task, err error) {
	switch {
	case err == nil:
		c.count(&t.Delivery)
	case t.Delivery.Made > 0:
		c.records.keep(t)
	}
	c.finish(t, err)
}
