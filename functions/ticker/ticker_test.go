package ticker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/ticker"
	"orgops/shared/base/id"
	"orgops/shared/domain/event"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/parked"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// running wraps a ticker over a test harness.
type running struct {
	*worktest.Harness
	faulty *worktest.Store
	ticker *ticker.Ticker
}

func setup(t *testing.T) *running {
	t.Helper()
	b := worktest.New(t)
	b.Clock.Set(time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC))
	r := &running{Harness: b, faulty: &worktest.Store{Store: b.Store}}
	r.ticker = r.another()
	return r
}

func (r *running) another() *ticker.Ticker {
	return &ticker.Ticker{Store: r.faulty, Logger: r.Logger, Metrics: r.Metrics, Now: r.Clock.Now}
}

func (r *running) tick() {
	r.T.Helper()
	errtest.Must(r.T, r.ticker.Tick(r.T.Context()))
}

// certify stores an integration whose certification expires at a time, with its timer.
func (r *running) certify(company, provider string, until time.Time) {
	r.T.Helper()
	i := integration.Integration{
		Provider: provider, Kind: "feed", State: integration.Certified, Enabled: true,
		Certification: &integration.Certification{ExpiresAt: until},
	}
	c := r.Company(company)
	errtest.Must(r.T, c.Commit(r.T.Context(),
		c.Create(integration.Key(provider), integration.Entity, i),
		c.Timer(until, integration.ExpiryTimer, provider+"@1")))
}

// wantState compares the state of an integration.
func (r *running) wantState(company, provider string, want integration.State) {
	r.T.Helper()
	if got := r.state(company, provider); got != want {
		r.T.Errorf("%s of %s is %q, want %q", provider, company, got, want)
	}
}

func (r *running) state(company, provider string) integration.State {
	r.T.Helper()
	var i integration.Integration
	r.Get(company, integration.Key(provider), &i)
	return i.State
}

// wantNoTimers checks that no timers remain up to two days after a time.
func (r *running) wantNoTimers(around time.Time) {
	r.T.Helper()
	n := 0
	for shard := range store.DueShards {
		page, err := r.Store.Query(r.T.Context(), store.Due(shard), store.DueBy(around.Add(48*time.Hour)))
		errtest.Must(r.T, err)
		n += len(page.Items)
	}
	if n != 0 {
		r.T.Errorf("%d timers remain, want 0", n)
	}
}

func TestTicker_Expiry(t *testing.T) {
	t.Parallel()
	r := setup(t)
	until := r.Clock.Now().Add(10 * time.Minute)
	r.certify("a", "feed", until)
	r.Clock.Set(until.Add(-time.Millisecond))
	r.tick()
	r.wantState("a", "feed", integration.Certified)
	r.Clock.Set(until)
	r.tick()
	var got integration.Integration
	r.Get("a", integration.Key("feed"), &got)
	want := integration.Integration{
		Provider: "feed", Kind: "feed", State: integration.Sandbox, SandboxedCause: integration.SandboxedByExpiry, Enabled: true,
	}
	other := cmpopts.IgnoreFields(integration.Integration{}, "Config", "UpdatedAt")
	if diff := cmp.Diff(want, got, other); diff != "" {
		t.Errorf("integration differs (-want +got):\n%s", diff)
	}
	r.wantNoTimers(until)
	r.tick()
	if changes := r.Changes(2); len(changes) != 2 {
		t.Errorf("%d changes, want the creation and one expiry", len(changes))
	}
}

// TestTicker_Expiry_Superseded removes the timer of a renewed certification, or of a deleted integration, without effect.
func TestTicker_Expiry_Superseded(t *testing.T) {
	t.Parallel()
	r := setup(t)
	until := r.Clock.Now().Add(time.Minute)
	r.certify("a", "renewed", until)
	r.Change("a", "renewed", func(i *integration.Integration) { i.Certification.ExpiresAt = until.Add(time.Hour) })
	r.certify("a", "sandboxed", until)
	r.Change("a", "sandboxed", func(i *integration.Integration) { *i = i.Sandboxed(integration.SandboxedByChange, until) })
	c := r.Company("a")
	errtest.Must(t, c.Commit(t.Context(), c.Timer(until, integration.ExpiryTimer, "deleted@1"), c.Timer(until, "of-an-older-release", "x")))
	r.Clock.Set(until)
	r.tick()
	r.wantState("a", "renewed", integration.Certified)
	r.wantNoTimers(until)
	var i integration.Integration
	if r.Get("a", integration.Key("sandboxed"), &i); i.SandboxedCause != integration.SandboxedByChange {
		t.Errorf("sandboxed because of %q, want %q", i.SandboxedCause, integration.SandboxedByChange)
	}
}

// TestTicker_GoalReview makes a goal without progress drift, timer by timer.
func TestTicker_GoalReview(t *testing.T) {
	t.Parallel()
	r := setup(t)
	now := r.Clock.Now()
	due := now.Add(100 * time.Hour)
	g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{ExternalID: "1", Incarnation: id.New(), Title: "Ship", State: goal.Open, Progress: 0.5, DueAt: &due}, now)
	c := r.Company("a")
	ops := []store.Op{c.Create(goal.Key(g.ID), goal.Entity, g)}
	errtest.Must(t, c.Commit(t.Context(), append(ops, intake.Review(c, g, 1, now)...)...))
	seen := []goal.Status{g.Alignment.Status}
	for range 120 {
		r.Clock.Advance(time.Hour)
		r.tick()
		r.Get("a", goal.Key(g.ID), &g)
		if s := g.Alignment.Status; s != seen[len(seen)-1] {
			seen = append(seen, s)
		}
	}
	if diff := cmp.Diff([]goal.Status{goal.Aligned, goal.Drifting, goal.Misaligned}, seen); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
	r.wantNoTimers(due)
	var names []string
	for _, change := range r.Changes(3) {
		events, err := event.Of(change)
		errtest.Must(t, err)
		for _, e := range events {
			names = append(names, e.Type)
		}
	}
	want := []string{event.GoalUpdated, event.GoalUpdated, event.GoalAlignmentChanged, event.GoalUpdated, event.GoalAlignmentChanged}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// TestTicker_GoalReview_Gone checks that a deleted goal, or a goal written since, is not reviewed.
func TestTicker_GoalReview_Gone(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c := r.Company("a")
	now := r.Clock.Now()
	g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{ExternalID: "1", Title: "Ship", State: goal.Closed}, now)
	r.Put("a", goal.Key(g.ID), goal.Entity, g)
	errtest.Must(t, c.Commit(t.Context(), c.Timer(now, intake.ReviewTimer, "gone@1"), c.Timer(now, intake.ReviewTimer, g.ID+"@1")))
	r.tick()
	item, err := c.Get(t.Context(), goal.Key(g.ID), nil)
	errtest.Must(t, err)
	if item.Version != 1 {
		t.Errorf("version %d, want 1", item.Version)
	}
	r.wantNoTimers(now)
}

// TestTicker_Behind fires, in every shard, the timers that became due while the ticker was stopped for hours. A ticker that
// starts for the first time looks back a day.
func TestTicker_Behind(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"started for the first time": true, "started again": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			from := r.Clock.Now()
			if !first {
				r.tick()
			}
			const companies = 20
			for n := range companies {
				r.certify(fmt.Sprintf("company-%d", n), "feed", from.Add(time.Duration(n)*time.Hour))
			}
			r.Clock.Advance((companies - 1) * time.Hour)
			r.tick()
			for n := range companies {
				r.wantState(fmt.Sprintf("company-%d", n), "feed", integration.Sandbox)
			}
		})
	}
}

// TestTicker_Late fires a timer that is committed with a time up to an hour in the past.
func TestTicker_Late(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for range 3 {
		r.tick()
		r.Clock.Advance(time.Minute)
	}
	r.certify("a", "feed", r.Clock.Now().Add(-59*time.Minute))
	r.tick()
	r.wantState("a", "feed", integration.Sandbox)
}

// TestTicker_NotFired retries a failed timer at a later tick, without stopping the others, even if the ticker would not
// otherwise read that timer's hour again.
func TestTicker_NotFired(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		cause  error
		failed float64
	}{
		{"a failed commit", errors.New("commit failed"), 3},
		{"a conflict", &store.ConflictError{Key: "INTEGRATION#feed"}, 0}, // the timer fires again from the new state
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.tick()
			from := r.Clock.Now()
			r.certify("a", "feed", from)
			r.certify("b", "feed", from)
			r.Clock.Advance(10 * time.Hour)
			r.faulty.Before(func(ops []store.Op) error {
				if id, _ := ops[0].Partition.CompanyID(); id == "a" {
					return tt.cause
				}
				return nil
			})
			for range 3 {
				r.tick()
				r.Clock.Advance(time.Hour)
			}
			r.wantState("a", "feed", integration.Certified)
			r.wantState("b", "feed", integration.Sandbox)
			if sums, _ := r.Measured(); sums["TimersFailed"] != tt.failed {
				t.Errorf("metrics %v, want %v failed timers", sums, tt.failed)
			}
			r.faulty.Before(nil)
			r.tick()
			r.wantState("a", "feed", integration.Sandbox)
		})
	}
}

// TestTicker_GivesUp parks a timer that has failed for longer than a day, so that the timers behind it are not read for nothing.
func TestTicker_GivesUp(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.certify("a", "feed", r.Clock.Now())
	r.faulty.Before(func(ops []store.Op) error {
		if ops[0].Entity == integration.Entity {
			return errors.New("commit failed")
		}
		return nil
	})
	parkedTimers := func(after time.Duration) int {
		r.Clock.Advance(after)
		r.tick()
		return len(worktest.All[parked.Change](r.Harness, "a", parked.Prefix))
	}
	if n := parkedTimers(25 * time.Hour); n != 0 {
		t.Errorf("%d timers are parked after 25 hours, want 0", n)
	}
	if n := parkedTimers(time.Hour); n != 1 {
		t.Errorf("%d timers are parked after 26 hours, want 1", n)
	}
	r.wantNoTimers(r.Clock.Now())
}

// TestTicker_Concurrent checks that two concurrent tickers fire each timer once.
func TestTicker_Concurrent(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const companies = 50
	for n := range companies {
		r.certify(fmt.Sprintf("company-%d", n), "feed", r.Clock.Now())
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := r.another().Tick(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	r.tick()
	r.Put("z", "MARK", "mark", struct{}{})
	if n := len(r.Changes(2*companies + 1)); n != 2*companies+1 {
		t.Errorf("%d changes, want %d", n, 2*companies+1)
	}
}

// TestTicker_Run checks that Run ticks at once and returns when its context ends.
func TestTicker_Run(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.certify("a", "feed", r.Clock.Now())
	stop := r.Go(func(ctx context.Context) {
		if err := r.ticker.Run(ctx, time.Hour); err != nil {
			t.Error(err)
		}
	})
	worktest.Until(t, "the timer has fired", func() bool { return r.state("a", "feed") == integration.Sandbox })
	stop()
}

// TestTicker_Run_Hangs ends Run when a tick does not come back.
func TestTicker_Run_Hangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		hung := &ticker.Ticker{Store: worktest.Stuck{Released: released}, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
		if err := hung.Run(t.Context(), time.Second); !errors.Is(err, parked.ErrHung) {
			t.Errorf("error %v, want %v", err, parked.ErrHung)
		}
		close(released)
		synctest.Wait()
	})
}

// TestTicker_Unread fires the timers of every partition that can be read when others cannot, and theirs with the next tick. A
// ticker that stopped at the first failed read would fire nothing for as long as one read of each tick fails.
func TestTicker_Unread(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.tick()
	const timers = 16 // in all shards
	for n := range timers {
		r.certify(fmt.Sprint(n), "feed", r.Clock.Now())
	}
	fired := func() (n int) {
		for i := range timers {
			if r.state(fmt.Sprint(i), "feed") == integration.Sandbox {
				n++
			}
		}
		return n
	}
	r.Clock.Advance(time.Minute)
	r.faulty.FailQueries(store.DueShards / 2)
	if err := r.ticker.Tick(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("err = %v, want %v", err, store.ErrUnavailable)
	}
	if n := fired(); n == 0 {
		t.Error("no timer fired although partitions with timers were read")
	}
	r.Clock.Advance(2 * time.Hour)
	r.tick()
	if n := fired(); n != timers {
		t.Errorf("%d timers have fired after the next tick, want %d", n, timers)
	}
}

// TestTicker_Away reads few partitions when none can be read.
func TestTicker_Away(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.faulty.FailQueries(1000)
	before := r.faulty.Reads()
	if err := r.ticker.Tick(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("err = %v, want %v", err, store.ErrUnavailable)
	}
	if n := r.faulty.Reads() - before; n > 10 {
		t.Errorf("%d reads of a store that is away, want at most 10", n)
	}
}
