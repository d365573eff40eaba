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

	"orgops/shared/store"
)

// Ticker is the worker. All fields are required.
type Ticker struct {
	Store  store.Store
	Logger *slog.Logger
	Now    func() time.Time
}

// mark is how far the timers have been read.
type mark struct {
	Until time.Time `json:"until"`
}

const markKey = "TICKER"

// reach is how far back a first run looks, and late how long an hour is read again after it is over, for timers that
// were committed in the past.
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
	var m mark
	item, err := t.Store.Get(ctx, store.System(), markKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		m.Until = now.Add(-reach)
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(item.Body, &m); err != nil {
			return fmt.Errorf("decode the ticker's mark: %w", err)
		}
	}
	for hour := m.Until.Add(-late).Truncate(time.Hour); !hour.After(now); hour = hour.Add(time.Hour) {
		for shard := range store.DueShards {
			if err := t.fire(ctx, store.Due(hour, shard), now); err != nil {
				return err
			}
		}
	}
	if now.Sub(m.Until) < time.Minute { // the mark saves reading old hours; it need not be exact
		return nil
	}
	err = t.Store.Commit(ctx, store.System().Entry(markKey, "mark", item.Version, mark{Until: now}))
	if errors.Is(err, store.ErrConflict) { // another ticker moved it
		return nil
	}
	return err
}

// fire fires the due timers of one partition. One that cannot be fired stays, and does not stop the others.
func (t *Ticker) fire(ctx context.Context, p store.Partition, now time.Time) error {
	q := store.Query{To: now.Format("2006-01-02T15:04:05.000Z") + "~"}
	for {
		page, err := t.Store.Query(ctx, p, q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			var timer store.Timer
			err := json.Unmarshal(item.Body, &timer)
			if err == nil {
				err = t.effect(ctx, p, item, timer)
			}
			if err != nil && ctx.Err() == nil {
				t.Logger.ErrorContext(ctx, "timer", "key", item.Key, "error", err)
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}

// effect commits what a timer is for, with its removal. An effect that is no longer called for is the removal alone.
func (t *Ticker) effect(ctx context.Context, p store.Partition, item store.Item, timer store.Timer) error {
	c := store.For(t.Store, timer.Company)
	ops, err := t.ops(ctx, c, timer)
	if err != nil {
		return err
	}
	err = c.Commit(ctx, append(ops, c.Fired(p, item))...)
	if errors.Is(err, store.ErrConflict) { // the next tick sees what it has become
		return nil
	}
	return err
}
