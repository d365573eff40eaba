// Package ticker makes what is due happen: it reads the timers of the hours since its stored mark and commits each
// one's effect together with the timer's removal, so that a timer fires exactly once however often it is read.
package ticker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"orgops/shared/metric"
	"orgops/shared/store"
)

// Ticker is the worker. All fields are required but Metrics.
type Ticker struct {
	Store   store.Store
	Logger  *slog.Logger
	Metrics *metric.Recorder // nil: nothing is measured
	Now     func() time.Time
}

// mark is how far the timers have been read.
type mark struct {
	Until time.Time `json:"until"`
}

const markKey = "TICKER"

// reach is how far back a first run looks, and how long a timer that cannot be fired is tried; late is how long an hour
// is read again after it is over, for timers that were committed in the past.
const (
	reach = 26 * time.Hour
	late  = time.Hour
)

// Run ticks at once and then every interval until ctx ends.
func (t *Ticker) Run(ctx context.Context, interval time.Duration) {
	clock := time.NewTicker(interval)
	defer clock.Stop()
	for {
		if err := t.Tick(ctx); err != nil && ctx.Err() == nil {
			t.Logger.ErrorContext(ctx, "tick", "error", err)
		}
		select {
		case <-clock.C:
		case <-ctx.Done():
			return
		}
	}
}

// Tick fires every timer that is due.
func (t *Ticker) Tick(ctx context.Context) error {
	now := t.Now().UTC()
	m, version, err := t.mark(ctx, now)
	if err != nil {
		return err
	}
	from := m.Until
	if from.After(now) { // a clock was wrong
		from = now
	}
	until := now
	for hour := from.Add(-late).Truncate(time.Hour); !hour.After(now); hour = hour.Add(time.Hour) {
		for shard := range store.DueShards {
			left, err := t.fire(ctx, store.Due(hour, shard), now)
			if err != nil {
				return err
			}
			if again := hour.Add(late); left && again.Before(until) { // the next tick reads this hour again
				until = again
			}
		}
	}
	if oldest := now.Add(-reach); until.Before(oldest) { // what fails for longer is not waited for
		until = oldest
	}
	if d := until.Sub(m.Until); d >= 0 && d < time.Minute { // the mark saves reading old hours; it need not be exact
		return nil
	}
	err = t.Store.Commit(ctx, store.System().Entry(markKey, "mark", version, mark{Until: until}))
	if errors.Is(err, store.ErrConflict) { // another ticker moved it
		return nil
	}
	return err
}

// mark is how far the timers have been read; version 0 is a first run.
func (t *Ticker) mark(ctx context.Context, now time.Time) (m mark, version int64, err error) {
	item, err := t.Store.Get(ctx, store.System(), markKey)
	if errors.Is(err, store.ErrNotFound) {
		return mark{Until: now.Add(-reach)}, 0, nil
	}
	if err != nil {
		return mark{}, 0, err
	}
	if err := json.Unmarshal(item.Body, &m); err != nil {
		return mark{}, 0, fmt.Errorf("decode the ticker's mark: %w", err)
	}
	return m, item.Version, nil
}

// fire fires the due timers of one partition. One that cannot be fired stays, and does not stop the others; left says
// that there are some.
func (t *Ticker) fire(ctx context.Context, p store.Partition, now time.Time) (left bool, err error) {
	q := store.Query{To: now.Format("2006-01-02T15:04:05.000Z") + "~"}
	for {
		page, err := t.Store.Query(ctx, p, q)
		if err != nil {
			return left, err
		}
		for _, item := range page.Items {
			err := t.effect(ctx, p, item)
			if ctx.Err() != nil {
				return left, ctx.Err()
			}
			left = left || err != nil
			if err != nil && !errors.Is(err, store.ErrConflict) { // who was in between may have changed what there is to do
				t.Metrics.Count(metric.TimersFailed, 1)
				t.Logger.ErrorContext(ctx, "timer", "key", item.Key, "error", err)
			}
		}
		if page.Next == "" {
			return left, nil
		}
		q.After = page.Next
	}
}

// effect commits what a timer is for, with its removal. An effect that is no longer called for is the removal alone.
func (t *Ticker) effect(ctx context.Context, p store.Partition, item store.Item) error {
	var timer store.Timer
	if err := json.Unmarshal(item.Body, &timer); err != nil {
		return err
	}
	c := store.For(t.Store, timer.Company)
	ops, err := t.ops(ctx, c, timer)
	if err != nil {
		return err
	}
	return c.Commit(ctx, append(ops, c.Fired(p, item))...)
}
