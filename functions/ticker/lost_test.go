package ticker_test

import (
	"testing"
	"time"

	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/testkit/errtest"
)

// TestTicker_LostRun puts a sync run into the queue again whose message is overdue, and leaves the others.
func TestTicker_LostRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		run       syncrun.StoredRun
		requested time.Duration // ago
		due       time.Duration // of its message; 0: at once
		leased    time.Duration
		turn      int // afterwards
	}{
		{name: "lost at once", run: syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Requested}}, requested: 16 * time.Minute, turn: 1},
		{name: "lost later", run: syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Running}}, requested: 5 * time.Hour, due: -16 * time.Minute, turn: 2},
		{name: "due later", run: syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Running}}, requested: 5 * time.Hour, due: 3 * time.Hour, turn: 1},
		{name: "just requested", run: syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Requested}}, requested: time.Minute},
		{name: "at work", run: syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Running}}, requested: time.Hour, leased: time.Minute, turn: 1},
		{name: "ended", run: syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Failed}}, requested: 5 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			now, run := r.Clock.Now(), tt.run
			run.ID, run.RequestedAt = "r", now.Add(-tt.requested)
			if tt.due != 0 {
				run.Work.Ask(now.Add(tt.due))
			}
			if tt.leased != 0 {
				run.Work.LeaseUntil = now.Add(tt.leased)
			}
			r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
			c := r.Company("a")
			errtest.Must(t, c.Commit(t.Context(), c.Timer(now, syncrun.OverdueTimer, run.ID)))
			r.tick()
			r.Clock.Advance(61 * time.Minute)
			r.tick() // looks again at a run that was at work
			var got syncrun.StoredRun
			r.Get("a", syncrun.Key(run.ID), &got)
			if got.Work.Turn != tt.turn {
				t.Errorf("turn %d, want %d", got.Work.Turn, tt.turn)
			}
			r.wantNoTimers(now)
		})
	}
}

// TestTicker_LostScheduledRun puts a run into the queue again when its schedule is due the next time.
func TestTicker_LostScheduledRun(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.follows("a", "1h", unchanged)
	r.minutes(60)
	first := r.runs("a")
	if len(first) != 1 {
		t.Fatalf("%d runs, want 1", len(first))
	}
	if !first[0].Watched {
		t.Error("the schedule comes again within the hour, so the run should need no timer of its own")
	}
	r.minutes(60)
	again := r.runs("a")
	if len(again) != 1 {
		t.Fatalf("%d runs, want 1", len(again))
	}
	if again[0].Work.Turn != 1 {
		t.Errorf("the run's message was asked for %d times more, want once", again[0].Work.Turn)
	}
}

// TestTicker_LostRecovery puts a recovery into the queue again whose message is overdue, and leaves the others.
func TestTicker_LostRecovery(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state     recovery.State
		requested time.Duration // ago
		due       time.Duration
		turn      int
	}{
		"lost at once":   {recovery.Requested, 16 * time.Minute, 0, 1},
		"lost later":     {recovery.Requested, 5 * time.Hour, -16 * time.Minute, 2},
		"due later":      {recovery.Requested, 5 * time.Hour, time.Minute, 1},
		"just requested": {recovery.Requested, time.Minute, 0, 0},
		"finished":       {recovery.Finished, 5 * time.Hour, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			now := r.Clock.Now()
			rec := recovery.Stored{Recovery: recovery.Recovery{ID: "r", Provider: "webhook", State: tt.state, RequestedAt: now.Add(-tt.requested)}}
			if tt.due != 0 {
				rec.Ask(now.Add(tt.due))
			}
			r.Put("a", recovery.Key(rec.ID), recovery.Entity, rec)
			c := r.Company("a")
			errtest.Must(t, c.Commit(t.Context(), c.Timer(now, recovery.OverdueTimer, rec.ID)))
			r.tick()
			var got recovery.Stored
			r.Get("a", recovery.Key(rec.ID), &got)
			if got.Turn != tt.turn {
				t.Errorf("turn %d, want %d", got.Turn, tt.turn)
			}
			r.wantNoTimers(now)
		})
	}
	r := setup(t)
	c := r.Company("a")
	errtest.Must(t, c.Commit(t.Context(), c.Timer(r.Clock.Now(), recovery.OverdueTimer, "expired"), c.Timer(r.Clock.Now(), syncrun.OverdueTimer, "expired")))
	r.tick()
	r.wantNoTimers(r.Clock.Now())
}
