// Package ticker fires timers. It reads the timers of the hours since its stored mark, and commits the effect of each due
// timer together with the timer's removal. So a timer takes effect exactly once, even if the ticker reads it several times.
package ticker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/parked"
	"orgops/shared/run/boot"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Ticker fires due timers. All fields are required except Metrics, Plans, and Keys in a process that erases no company.
type Ticker struct {
	Store   store.Store
	Queues  map[string]queue.Queue // by the names that timers of messages have
	Keys    erasure.Keys
	Plans   Plans // nil: no gateway holds to plans
	Logger  *slog.Logger
	Metrics *metric.Recorder // nil: no metrics are recorded
	Now     func() time.Time
	Canary  bool // each tick writes the canary's changes
}

// lot returns the lot in which the ticker parks timers.
func (t *Ticker) lot() parked.Lot {
	return parked.Lot{Store: t.Store, Consumer: Consumer, Logger: t.Logger, Metrics: t.Metrics, Now: t.Now}
}

// From makes a ticker from the service's parts.
func From(s *boot.Services) *Ticker {
	queues := map[string]queue.Queue{boot.Retries: s.Retries, boot.Syncs: s.Syncs}
	return &Ticker{Store: s.Store, Queues: queues, Keys: s.DataKeys, Logger: s.Logger, Metrics: s.Metrics, Now: s.Now}
}

// mark records the time up to which the timers have been read.
type mark struct {
	Until time.Time `json:"until"`
}

const markKey = "TICKER"

// reach bounds how far back a first run looks, and how long a failing timer is retried. late sets how long the ticker still
// reads an hour that is over, because a timer may be committed with a time in the past.
const (
	reach = 26 * time.Hour
	late  = time.Hour
)

// Limits of a tick that Run makes: the time that its work has, and the time until it must have come back.
const (
	tickTime = 2 * time.Minute
	tickBack = 3 * time.Minute
)

// Run ticks at once and then every interval until ctx ends. It returns parked.ErrHung if a tick does not come back. The tick may go
// on then, so the caller ends the process.
func (t *Ticker) Run(ctx context.Context, interval time.Duration) error {
	clock := time.NewTicker(interval)
	defer clock.Stop()
	for {
		if err := t.timed(ctx); errors.Is(err, parked.ErrHung) {
			return err
		} else if err != nil && ctx.Err() == nil {
			t.Logger.ErrorContext(ctx, "timers not read", "error", err)
		}
		select {
		case <-clock.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// timed makes a tick that has tickTime.
func (t *Ticker) timed(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, tickTime)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- t.Tick(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(tickBack):
		return parked.ErrHung
	}
}

// maxUnread limits the partitions that one tick fails to read. Then the store is away, and the tick ends.
const maxUnread = 8

// Tick fires every timer that is due. It goes on after a partition that it cannot read, and returns an error at the end. A later
// tick reads that partition again.
func (t *Ticker) Tick(ctx context.Context) error {
	now := t.Now().UTC()
	if !t.Canary {
		return t.timers(ctx, now)
	}
	return errors.Join(t.timers(ctx, now), t.canary(ctx, now))
}

// timers fires every timer that is due. If ctx ends meanwhile, the tick counts as not come back.
func (t *Ticker) timers(ctx context.Context, now time.Time) error {
	tries := &trying{lot: t.lot()}
	err := t.due(ctx, now, tries)
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, tries.end(ctx))
}

func (t *Ticker) due(ctx context.Context, now time.Time, tries *trying) error {
	m, version, err := t.mark(ctx, now)
	if err != nil {
		return err
	}
	from := m.Until
	if from.After(now) { // the clock was wrong
		from = now
	}
	until := now
	var unread []error
	for hour := from.Add(-late).Truncate(time.Hour); !hour.After(now); hour = hour.Add(time.Hour) {
		for shard := range store.DueShards {
			left, err := t.fire(ctx, store.Due(hour, shard), now, tries)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				unread, left = append(unread, err), true
			}
			if len(unread) == maxUnread {
				return errors.Join(unread...)
			}
			if again := hour.Add(late); left && again.Before(until) { // the next tick reads this hour again
				until = again
			}
		}
	}
	if oldest := now.Add(-reach); until.Before(oldest) { // stop retrying a timer that has failed for longer
		until = oldest
	}
	if d := until.Sub(m.Until); d >= 0 && d < time.Minute { // the mark only saves reading old hours; it need not be exact
		return errors.Join(unread...)
	}
	err = t.Store.Commit(ctx, store.System().Entry(markKey, "mark", version, mark{Until: until}))
	if errors.Is(err, store.ErrConflict) { // another ticker moved it
		err = nil
	}
	return errors.Join(append(unread, err)...)
}

// mark returns the time up to which the timers have been read; version 0 means a first run.
func (t *Ticker) mark(ctx context.Context, now time.Time) (m mark, version int64, err error) {
	item, err := t.Store.Get(ctx, store.System(), markKey)
	if errors.Is(err, store.ErrNotFound) {
		return mark{Until: now.Add(-reach)}, 0, nil
	}
	if err != nil {
		return mark{}, 0, err
	}
	if err := item.Decode(&m); err != nil {
		return mark{}, 0, err
	}
	return m, item.Version, nil
}

// fire fires the due timers of one partition. A timer that fails stays and does not stop the others; left reports whether
// any stayed.
func (t *Ticker) fire(ctx context.Context, p store.Partition, now time.Time, tries *trying) (left bool, err error) {
	q := store.Query{To: now.Format("2006-01-02T15:04:05.000Z") + "~"}
	for item, err := range store.Items(ctx, t.Store, p, q) {
		if err != nil {
			return left, err
		}
		err = t.effect(ctx, p, item, now, tries)
		if ctx.Err() != nil {
			return left, ctx.Err()
		}
		left = left || err != nil
		tries.stayed = tries.stayed || err != nil
		if err != nil && !errors.Is(err, store.ErrConflict) { // on a conflict, the next tick decides from the new state
			t.Metrics.Count(metric.TimersFailed, 1)
			t.Logger.ErrorContext(ctx, "timer failed", "key", item.Key, "error", err)
		}
	}
	return left, nil
}

// errPanicked reports a timer whose effect panicked. It is a failure of this timer alone.
var errPanicked = errors.New("the effect of the timer panicked")

// effect commits the operations of a timer together with its removal. A timer without operations is only removed. A timer with which
// ticks have ended is parked.
func (t *Ticker) effect(ctx context.Context, p store.Partition, item store.Item, now time.Time, tries *trying) (err error) {
	defer func() {
		if v := recover(); v != nil { // the timers behind it would wait for as long as this one stays
			t.Logger.ErrorContext(ctx, "timer panicked", "key", item.Key, "panic", v, "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	var timer store.Timer
	if err := item.Decode(&timer); err != nil {
		return err
	}
	c := store.For(t.Store, timer.Company)
	if ok, err := tries.begin(ctx, item, timer, now); err != nil {
		return err
	} else if !ok {
		return t.park(ctx, c, p, item, timer)
	}
	ops, err := t.ops(ctx, c, timer)
	if err != nil {
		return err
	}
	return c.Commit(ctx, append(ops, c.Fired(p, item))...)
}
