package ticker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
)

// parallel limits the timers that a process fires at once.
const parallel = 32

// fire fires the timers of some shards, from their first pages on. If ctx ends meanwhile, the tick counts as not come back.
func (t *Ticker) fire(ctx context.Context, now time.Time, heads ...head) error {
	tries, err := t.begin(ctx, now, heads)
	if err != nil {
		return err
	}
	taking, stop := ending(ctx)
	defer stop()
	unread := make([]error, len(heads))
	var stayed atomic.Bool
	var firing sync.WaitGroup
	for n, h := range heads {
		firing.Go(func() {
			s := &shard{t, h, newLanes(taking), tries, &stayed}
			unread[n] = s.fire(ctx, taking, tries.workers(len(heads)))
		})
		if tries.again() {
			firing.Wait()
		}
	}
	firing.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = errors.Join(unread...)
	if stayed.Load() {
		err = errors.Join(err, tries.end(ctx))
	}
	return err
}

// ending returns the context of the time in which a tick begins timers. The last tenth of a tick's time is for those in flight, so that
// a tick with too many timers comes back.
func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/10))
}

// shard is one shard whose timers a tick fires.
type shard struct {
	*Ticker
	head   head
	lanes  *lanes
	tries  trying
	stayed *atomic.Bool // a timer has failed
}

// fire begins timers until taking ends, and returns when no timer is in flight.
func (s *shard) fire(ctx, taking context.Context, workers int) error {
	s.lanes.put(s.dues(ctx, s.head)...)
	var working sync.WaitGroup
	var turns pace
	for range workers {
		working.Go(func() {
			for d, ok := s.lanes.take(); ok; d, ok = s.lanes.take() {
				if turns.wait(taking) && !s.around(ctx, d) {
					s.stayed.Store(true)
				}
				s.lanes.done(d)
			}
		})
	}
	err := s.rest(ctx, taking)
	s.lanes.close()
	working.Wait()
	return err
}

// rest puts the timers behind the first page into lanes.
func (s *shard) rest(ctx, taking context.Context) error {
	q := store.DueBy(s.tries.now)
	for h := s.head; h.Next != "" && s.lanes.room(); {
		q.After = h.Next
		var err error
		h.Page, err = s.Store.Query(taking, store.Due(h.shard), q)
		if err != nil && taking.Err() == nil { // else the next tick reads on
			return err
		}
		s.lanes.put(s.dues(ctx, h)...)
	}
	return nil
}

// around fires a timer, wrapped. It reports whether the timer is gone.
func (s *shard) around(ctx context.Context, d due) (gone bool) {
	work := func(ctx context.Context) error {
		gone = s.one(ctx, d)
		return nil
	}
	if s.Around == nil {
		return work(ctx) == nil && gone
	}
	return s.Around(ctx, d.item.Key, work) == nil && gone
}

// one fires a timer. A timer with which ticks have ended is parked.
func (s *shard) one(ctx context.Context, d due) (gone bool) {
	ok, err := s.tries.begin(ctx, d)
	switch {
	case err != nil:
		s.failed(ctx, d.item, err)
		return false
	case !ok:
		return s.park(ctx, d, parked.ErrLost) == nil
	}
	return s.tried(ctx, d, s.tries.now)
}
