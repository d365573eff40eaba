// Package ticker fires timers. It reads the due timers of each shard, and commits the effect of each timer together with the timer's
// removal. So a timer takes effect exactly once, even if several tickers read it.
//
// A tick fires many timers at once, in three steps:
//
//  1. It reads the first page of each shard (head.go). A shard with more due timers goes to a helper, another process of the ticker.
//  2. A reader of each shard puts the timers into lanes (lanes.go): those about one thing one after the other, the companies in turn.
//  3. Workers take the timers from the lanes and fire them (fire.go).
//
// If ticks have ended with a late timer, the tick fires one late timer at a time and finds it (trial.go).
package ticker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"
	_ "time/tzdata" // a Lambda has no zones of its own

	"orgops/shared/base/metric"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/parked"
	"orgops/shared/run/boot"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Ticker fires due timers. All fields are required except Metrics, Plans, Keys in a process that erases no company, and Vault and Base
// without a canary.
type Ticker struct {
	Store   store.Store
	Queues  map[string]queue.Queue // by the names that timers of messages have
	Keys    erasure.Keys
	Plans   Plans // nil: no gateway holds to plans
	Logger  *slog.Logger
	Metrics *metric.Recorder // nil: no metrics are recorded
	Now     func() time.Time
	Canary  bool // each tick writes the canary's changes; Vault and Base are required then
	Vault   integration.Vault
	Base    string // the service's own address, where the canary's deliveries go
	Page    int    // due timers of a shard that a tick fires without a helper; 0: store.MaxPage
	// Ask makes another process of the ticker handle an Event soon. Nil: a tick fires all timers itself.
	Ask func(ctx context.Context, event any) error
	// Around wraps the work on each timer, which has this key. Nil: nothing does.
	Around func(ctx context.Context, key string, work func(context.Context) error) error
}

// Event asks for a tick, or for the due timers of one shard.
type Event struct {
	Shard *int `json:"shard,omitempty"` // nil in the event of the clock
}

// Alone is how many due timers of a shard a tick in a Lambda fires without a helper.
const Alone = 250

// lot returns the lot in which the ticker parks timers.
func (t *Ticker) lot() parked.Lot {
	return parked.Lot{Store: t.Store, Consumer: Consumer, Logger: t.Logger, Metrics: t.Metrics, Now: t.Now}
}

// From makes a ticker from the service's parts.
func From(s *boot.Services) *Ticker {
	queues := map[string]queue.Queue{boot.Retries: s.Retries, boot.Syncs: s.Syncs, boot.Notices: s.Notices}
	return &Ticker{Store: s.Store, Queues: queues, Keys: s.DataKeys, Vault: s.Vault, Base: s.Base, Logger: s.Logger, Metrics: s.Metrics, Now: s.Now}
}

// reach limits how long a failing timer is retried. It is parked then.
const reach = 26 * time.Hour

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

// Tick fires every timer that is due. It goes on after a shard that it cannot read, and returns an error at the end. A later tick reads
// that shard again.
func (t *Ticker) Tick(ctx context.Context) error {
	now := t.Now().UTC()
	if !t.Canary {
		return t.timers(ctx, now)
	}
	return errors.Join(t.timers(ctx, now), t.canary(ctx, now))
}

// Handle ticks, or helps a tick that has asked for it.
func (t *Ticker) Handle(ctx context.Context, e Event) error {
	if e.Shard == nil {
		return t.Tick(ctx)
	}
	now := t.Now().UTC()
	h, err := t.read(ctx, *e.Shard, now)
	if err != nil {
		return err
	}
	return t.fire(ctx, now, h)
}

// timers fires every timer that is due, except in shards that a helper takes.
func (t *Ticker) timers(ctx context.Context, now time.Time) error {
	heads, err := t.heads(ctx, now)
	own := slices.DeleteFunc(heads, func(h head) bool { return h.Next != "" && t.delegate(ctx, h.shard) })
	return errors.Join(err, t.fire(ctx, now, own...))
}

// delegate reports whether a helper will fire the timers of a shard.
func (t *Ticker) delegate(ctx context.Context, shard int) bool {
	if t.Ask == nil {
		return false
	}
	err := t.Ask(ctx, Event{&shard})
	if err != nil {
		t.Logger.WarnContext(ctx, "no helper for a shard of the timers", "shard", shard, "error", err)
	}
	return err == nil
}

// errPanicked reports a timer whose effect panicked. It is a failure of this timer alone.
var errPanicked = errors.New("the effect of the timer panicked")

// tried commits the effect of a timer. A timer that fails stays and does not stop the others, until it has failed for too long.
func (t *Ticker) tried(ctx context.Context, d due, now time.Time) (gone bool) {
	err := t.effect(ctx, d)
	if ctx.Err() != nil || err == nil || errors.Is(err, store.ErrConflict) { // on a conflict, the next tick decides from the new state
		return err == nil
	}
	t.failed(ctx, d.item, err)
	away := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown)
	return !away && now.Sub(d.timer.At) >= reach && t.park(ctx, d, err) == nil
}

func (t *Ticker) failed(ctx context.Context, item store.Item, err error) {
	t.Metrics.Count(metric.TimersFailed, 1)
	t.Logger.ErrorContext(ctx, "timer failed", "key", item.Key, "error", err)
}

// effect commits the operations of a timer together with its removal. A timer without operations is only removed.
func (t *Ticker) effect(ctx context.Context, d due) (err error) {
	defer func() {
		if v := recover(); v != nil { // the timers behind it would wait for as long as this one stays
			t.Logger.ErrorContext(ctx, "timer panicked", "key", d.item.Key, "panic", v, "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	c := store.For(t.Store, d.timer.Company)
	ops, err := t.ops(ctx, c, d.timer)
	if err != nil {
		return err
	}
	return c.Commit(ctx, append(ops, c.Fired(store.Due(d.shard), d.item))...)
}
