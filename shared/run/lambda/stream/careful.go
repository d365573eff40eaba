package stream

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
)

// late sets the age of a record from which on an earlier invocation may have begun it and not come back: Lambda redelivers
// the records of an invocation that timed out a minute later at the earliest. It redelivers those of a crash at once, until
// they are as old. A younger record costs no write of a trial.
const late = time.Minute

// result says how far an event was handled.
type result struct {
	failed int  // the index of the first record that is to be redelivered, or -1
	open   bool // some work had not ended when the time was over
}

// all is the result of an event that was handled as a whole.
func all() result { return result{failed: -1} }

// carefully handles events with work, and finds a change with which the process ends or that never ends. Such a change would
// hold up its shard until Lambda discards it. It is parked after parked.MaxLost tries of it alone.
func carefully(work func(context.Context, Event) result, lot parked.Lot) func(context.Context, Event) (Answer, error) {
	return func(ctx context.Context, e Event) (Answer, error) {
		if len(e.Records) == 0 || lot.Now().Sub(record(e.Records[0]).Created) < late {
			return from(e, work(ctx, e).failed), nil
		}
		t, err := lot.Begin(ctx, identity(e.Records[0]))
		if err != nil {
			lot.Logger.WarnContext(ctx, "late changes not begun; they will be redelivered", "error", err)
			return from(e, 0), nil
		}
		r := search{lot: lot, trial: t, work: work}.handle(ctx, e)
		if r.failed == 0 && !r.open {
			if err := t.Return(ctx); err != nil {
				lot.Logger.WarnContext(ctx, "the end of late changes not stored; they will be tried one by one", "error", err)
			}
		}
		return from(e, r.failed), nil
	}
}

// identity returns what identifies the change in a record, without its images.
func identity(r events.DynamoDBEventRecord) store.Change {
	c, _, _ := record(r).Change() // next to an error it identifies the change too
	return c
}

// search handles late events under a trial.
type search struct {
	lot   parked.Lot
	trial *parked.Trial
	work  func(context.Context, Event) result
}

func (s search) handle(ctx context.Context, e Event) result {
	if !s.trial.Again() {
		return s.work(ctx, e)
	}
	s.lot.Logger.WarnContext(ctx, "an earlier process began these changes and did not come back; trying them one by one", "changes", len(e.Records))
	enough := half(ctx)
	for n := range e.Records {
		if n > 0 && !enough() {
			return result{failed: n}
		}
		if r := s.one(ctx, Event{e.Records[n : n+1], e.Shard}); r.failed == 0 {
			return result{failed: n, open: r.open}
		}
	}
	return all()
}

// one handles an event with one record, or parks its change.
func (s search) one(ctx context.Context, e Event) result {
	ok, err := s.trial.Try(ctx, identity(e.Records[0]))
	if err != nil {
		s.lot.Logger.WarnContext(ctx, "late change not begun; it will be redelivered", "error", err)
		return result{}
	}
	if ok {
		return s.work(ctx, e)
	}
	changes, unparked := entries(ctx, e, s.lot) // parks what cannot be decoded
	if unparked == 0 {
		return result{}
	}
	for _, n := range changes {
		if err := s.lot.Park(ctx, n.change, parked.ErrLost); err != nil {
			s.lot.Logger.WarnContext(ctx, "change not parked; it will be redelivered", "error", err)
			return result{}
		}
	}
	return all()
}

// half returns a function that reports whether at least half of the time is left that ctx has now. A change that is begun
// with less could be cut off without a fault of its own.
func half(ctx context.Context) func() bool {
	end, ok := ctx.Deadline()
	middle := end.Add(-time.Until(end) / 2)
	return func() bool { return !ok || time.Now().Before(middle) }
}
