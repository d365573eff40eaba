package ticker

import (
	"context"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/base/metric"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
)

// Consumer names the ticker where it parks timers.
const Consumer = "ticker"

// suspicious sets how late a timer is from which on an earlier tick may have begun it and not come back. A timer that is less late
// costs no write of a trial.
const suspicious = 2 * time.Minute

// trials names the company that keeps the trials of ticks. It is in no registry. A timer's own company may be erased meanwhile.
const trials = Consumer

// trying finds the timer with which a tick ends: it ends the process, or takes all of the tick's time. The next tick would begin it again,
// and never reach the timers behind it.
type trying struct {
	lot    parked.Lot
	trial  *parked.Trial // nil: the tick has met no late timer
	stayed bool          // a late timer has failed, and the next tick begins it again
}

// begin reports whether the tick may begin a timer, and stores so first if earlier ticks have ended.
func (s *trying) begin(ctx context.Context, item store.Item, timer store.Timer, now time.Time) (ok bool, err error) {
	if now.Sub(timer.At) < suspicious {
		return true, nil
	}
	c := store.Change{Company: trials, Sequence: store.Sequence(id.At(timer.At, item.Key))}
	if s.trial == nil {
		t, err := s.lot.Begin(ctx, c)
		if err != nil {
			return false, err
		}
		s.trial = t
	}
	if !s.trial.Again() {
		return true, nil
	}
	return s.trial.Try(ctx, c)
}

// end stores that the tick has come back, if the next tick begins the same late timers again.
func (s *trying) end(ctx context.Context) error {
	if s.trial == nil || !s.stayed {
		return nil
	}
	return taken(s.trial.Return(ctx))
}

// eraseLater is when the ticker goes on with an erasure with which ticks have ended.
const eraseLater = time.Hour

// park parks a timer in its company and removes it. An erasure is only put off: it goes on where it has ended, and a company has a right
// to it.
func (t *Ticker) park(ctx context.Context, c store.Company, p store.Partition, item store.Item, timer store.Timer) error {
	if timer.Kind == erasure.Timer {
		t.Metrics.Count(metric.TimersFailed, 1)
		t.Logger.ErrorContext(ctx, "erasure put off, because ticks end with it", "company", c.ID(), "error", parked.ErrLost)
		return c.Commit(ctx, erasure.Again(c, t.Now().Add(eraseLater), timer.Subject), c.Fired(p, item))
	}
	change := store.Change{Company: c.ID(), Key: item.Key, Entity: item.Entity, At: item.At, New: &store.Image{Version: item.Version, Body: item.Body}}
	if err := t.lot().Park(ctx, change, parked.ErrLost); err != nil {
		return err
	}
	return c.Commit(ctx, c.Fired(p, item))
}
