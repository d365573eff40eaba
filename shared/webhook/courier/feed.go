package courier

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/webhook/endpoint"
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

// These bound the waiting tasks. A task that exceeds them is recorded as due later.
const (
	maxWaiting     = 1024             // for one endpoint
	maxWaitingSize = 1 << 20          // bytes of their payloads
	maxQueued      = 4096             // in all lanes: half of what the feed hands out
	longestWait    = 10 * time.Second // twice the time of an attempt; a waiting task keeps its batch unfinished
	relieveEvery   = 250 * time.Millisecond
)

// enter starts a task that gets a slot, and gives another a place in its endpoint's lane. ok is false, and nothing is done, if the
// lane is full. One lane may hold as many tasks as all lanes have room for.
func (s *slots) enter(t *Task) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.window(t.slot, s.now())
	if len(w.lane) == 0 && s.acquire(t.slot, Feed) {
		go s.work(t)
		return true
	}
	if s.closed || len(w.lane) >= min(maxWaiting, maxQueued-s.queued) || w.size >= maxWaitingSize {
		return false
	}
	t.waits = s.now()
	w.lane = append(w.lane, t)
	w.size += len(t.Delivery.Payload)
	s.queued++
	return true
}

// next releases a slot of the Feed. It returns the lane's next task if the task gets a slot. The endpoint's answer may have made room
// for more tasks, which next starts.
func (s *slots) next(e endpoint.Key) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(e, Feed)
	t := s.pop(e)
	if t != nil {
		s.begin(e)
	}
	return t
}

// begin starts every waiting task of a lane that gets a slot.
func (s *slots) begin(e endpoint.Key) {
	for t := s.pop(e); t != nil; t = s.pop(e) {
		go s.work(t)
	}
}

// pop takes a slot for the lane's first task and removes the task; nil if no task waits or no slot is free.
func (s *slots) pop(e endpoint.Key) *Task {
	w := s.endpoints[e]
	if w == nil || len(w.lane) == 0 || !s.acquire(e, Feed) {
		return nil
	}
	return s.remove(w, 1)[0]
}

// relieve starts tasks for which other companies, endpoints or the Queue have left slots. It removes and returns tasks that
// have waited for too long.
func (s *slots) relieve() (expired []*Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for e, w := range s.endpoints {
		s.begin(e)
		n := 0
		for n < len(w.lane) && now.Sub(w.lane[n].waits) > longestWait {
			n++
		}
		expired = append(expired, s.remove(w, n)...)
	}
	return expired
}

// close removes and returns every waiting task. After that, no task gets a place in a lane.
func (s *slots) close() (tasks []*Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, w := range s.endpoints {
		tasks = append(tasks, s.remove(w, len(w.lane))...)
	}
	return tasks
}

// remove removes and returns the first n tasks of a lane.
func (s *slots) remove(w *window, n int) []*Task {
	tasks := slices.Clone(w.lane[:n])
	clear(w.lane[:n])
	if w.lane = w.lane[n:]; len(w.lane) == 0 {
		w.lane = nil // its array may be large
	}
	for _, t := range tasks {
		w.size -= len(t.Delivery.Payload)
	}
	s.queued -= n
	return tasks
}
