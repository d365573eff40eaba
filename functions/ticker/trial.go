package ticker

import (
	"context"
	"slices"
	"strings"
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
	trial *parked.Trial // nil: the tick has met no late timer
	now   time.Time
}

// begin begins the trial of a tick that fires the timers of these shards, if the first of the timers is late.
func (t *Ticker) begin(ctx context.Context, now time.Time, heads []head) (trying, error) {
	s := trying{now: now}
	var all []due
	for _, h := range heads {
		h.Items = h.Items[:min(1, len(h.Items))]
		all = append(all, t.dues(ctx, h)...)
	}
	if len(all) == 0 {
		return s, nil
	}
	first := slices.MinFunc(all, func(a, b due) int { return strings.Compare(a.item.Key, b.item.Key) })
	if !s.suspects(first) {
		return s, nil
	}
	trial, err := t.lot().Begin(ctx, change(first))
	s.trial = trial
	return s, err
}

func (s trying) suspects(d due) bool { return s.now.Sub(d.timer.At) >= suspicious }

// change returns what a trial calls a timer.
func change(d due) store.Change {
	return store.Change{Company: trials, Sequence: store.Sequence(id.At(d.timer.At, d.item.Key))}
}

// again reports whether earlier ticks have ended. Then the tick fires one timer at a time.
func (s trying) again() bool { return s.trial != nil && s.trial.Again() }

// workers returns how many timers of a shard the tick fires at once, if it has so many shards.
func (s trying) workers(shards int) int {
	if s.again() {
		return 1
	}
	return parallel / shards
}

// begin reports whether the tick may begin a timer, and stores so first if earlier ticks have ended.
func (s trying) begin(ctx context.Context, d due) (ok bool, err error) {
	if !s.again() || !s.suspects(d) {
		return true, nil
	}
	return s.trial.Try(ctx, change(d))
}

// end stores that the tick has come back, and that the next tick begins the same late timers again.
func (s trying) end(ctx context.Context) error {
	if s.trial == nil {
		return nil
	}
	return taken(s.trial.Return(ctx))
}

// eraseLater is when the ticker goes on with an erasure with which ticks have ended.
const eraseLater = time.Hour

// park parks a timer in its company and removes it. An erasure is only put off: it goes on where it has ended, and a company has a right
// to it.
func (t *Ticker) park(ctx context.Context, d due, reason error) error {
	c, item := store.For(t.Store, d.timer.Company), d.item
	if d.timer.Kind == erasure.Timer {
		t.Metrics.Count(metric.TimersFailed, 1)
		t.Logger.ErrorContext(ctx, "erasure put off", "company", c.ID(), "error", reason)
		return c.Commit(ctx, erasure.Again(c, t.Now().Add(eraseLater), d.timer.Subject), c.Fired(store.Due(d.shard), item))
	}
	change := store.Change{Company: c.ID(), Key: item.Key, Entity: item.Entity, At: item.At, New: &store.Image{Version: item.Version, Body: item.Body}}
	if err := t.lot().Park(ctx, change, reason); err != nil {
		return err
	}
	return c.Commit(ctx, c.Fired(store.Due(d.shard), item))
}
