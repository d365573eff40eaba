package parked

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// Feed passes a feed on, and finds a change with which the process ends: after each start the feed would deliver it again. When
// processes that started at the same change have not come back for a minute, the next one gets the changes up to the end of the
// replay one at a time. A change that was begun alone MaxLost times is parked.
type Feed struct {
	store.Feed
	Lot   func(consumer string) Lot
	Limit time.Duration // of the time in which a batch ends, fails or is retried
}

// ErrHung reports work on a change or a timer that did not end within its limit.
var ErrHung = errors.New("a worker hangs at a change or a timer; start the process again: its next starts find what the worker hangs at, and park it")

// Consume implements store.Feed. It returns ErrHung if a batch does not end within the limit. The consumer may still work then, so the
// caller ends the process: the batch counts as one with which a process has ended.
func (f Feed) Consume(ctx context.Context, consumer string, handle func(context.Context, store.Batch, func(error))) error {
	open := &working{since: map[int]time.Time{}}
	s := starting{lot: f.Lot(consumer), handle: open.watched(handle)}
	ended := make(chan error, 1)
	go func() { ended <- f.Feed.Consume(ctx, consumer, s.batch) }()
	look := time.NewTicker(f.Limit / 4)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case now := <-look.C:
			if ctx.Err() == nil && open.longest(now) > f.Limit { // else the process ends anyway
				return ErrHung
			}
		}
	}
}

// starting handles the batches of a consumer from its start on. The feed delivers one batch at a time.
type starting struct {
	lot    Lot
	handle func(context.Context, store.Batch, func(error))
	trial  *Trial // nil before the first replay
	over   bool   // the replay is over, or holds no change that ends the process
}

func (s *starting) batch(ctx context.Context, b store.Batch, done func(error)) {
	if s.over || !b.Replay || len(b.Changes) == 0 {
		s.over = true
		s.handle(ctx, b, done)
		return
	}
	if s.trial == nil {
		t, err := s.lot.Begin(ctx, b.Changes[0])
		if err != nil {
			done(err)
			return
		}
		s.trial, s.over = t, !t.Again()
	}
	if s.over {
		s.handle(ctx, b, done)
		return
	}
	done(s.alone(ctx, b.Changes))
}

// alone handles changes one after the other.
func (s *starting) alone(ctx context.Context, changes []store.Change) error {
	for _, c := range changes {
		ok, err := s.trial.Try(ctx, c)
		switch {
		case err != nil:
		case ok:
			if err = s.wait(ctx, c); err != nil {
				err = errors.Join(err, s.trial.Return(ctx))
			}
		default:
			err = s.lot.Park(ctx, c, ErrLost)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wait handles a change and waits for its end.
func (s *starting) wait(ctx context.Context, c store.Change) error {
	var once sync.Once
	ended := make(chan error, 1)
	s.handle(ctx, store.Batch{Changes: []store.Change{c}, Replay: true}, func(err error) { once.Do(func() { ended <- err }) })
	return <-ended
}
