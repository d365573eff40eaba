package ticker_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// follows stores a certified feed of a company with a schedule, as a configuration does.
func (r *running) follows(company, every string, edit func(*integration.Integration)) {
	r.T.Helper()
	now, ports := r.Clock.Now(), []integration.Port{integration.SyncPull, integration.MemoryUpsert}
	i := integration.Integration{
		Provider: "feed", Kind: "feed", State: integration.Certified, Enabled: true, Permissions: ports,
		Config:        json.RawMessage(`{"url":"u","schedule":"` + every + `"}`),
		Certification: &integration.Certification{ExpiresAt: now.AddDate(0, 0, 90), Ports: ports},
	}
	edit(&i)
	c := r.Company(company)
	ops := i.Reschedule(c, now)
	errtest.Must(r.T, c.Commit(r.T.Context(), append(ops, c.Create(integration.Key("feed"), integration.Entity, i))...))
}

func unchanged(*integration.Integration) {}

func (r *running) runs(company string) []syncrun.StoredRun {
	r.T.Helper()
	return worktest.All[syncrun.StoredRun](r.Harness, company, syncrun.Prefix)
}

// minutes lets so many minutes pass, with a tick in each.
func (r *running) minutes(n int) {
	r.T.Helper()
	for range n {
		r.Clock.Advance(time.Minute)
		r.tick()
	}
}

// end ends the run of a company that is under way.
func (r *running) end(company string) {
	r.T.Helper()
	var slot syncrun.Slot
	r.Get(company, syncrun.SlotKey("feed"), &slot)
	slot.Run, slot.FullAt = "", r.Clock.Now()
	r.Put(company, syncrun.SlotKey("feed"), syncrun.SlotEntity, slot)
}

// TestTicker_Schedule requests a live sync in each interval, and none while one is under way. The first is a full one.
func TestTicker_Schedule(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.follows("a", "15m", unchanged)
	r.minutes(15)
	all := r.runs("a")
	if len(all) != 1 {
		t.Fatalf("%d runs after 15 minutes, want 1", len(all))
	}
	if got := all[0].Run; got.Mode != syncrun.Live {
		t.Errorf("the run's mode is %s, want live", got.Mode)
	}
	if !all[0].Full {
		t.Error("the first run is incremental, want it full")
	}
	r.minutes(30)
	if got := len(r.runs("a")); got != 1 {
		t.Errorf("%d runs while the first is under way, want 1", got)
	}
	r.end("a")
	r.minutes(15)
	all = r.runs("a")
	if len(all) != 2 {
		t.Fatalf("%d runs after the first has ended, want 2", len(all))
	}
	if all[1].Full {
		t.Error("the second run is full, want it incremental")
	}
}

// TestTicker_ScheduleSkips requests no sync of an integration that may not sync, and goes on when it may.
func TestTicker_ScheduleSkips(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.follows("a", "15m", func(i *integration.Integration) { i.Enabled = false })
	r.minutes(30)
	if got := len(r.runs("a")); got != 0 {
		t.Errorf("%d runs of a disabled integration, want none", got)
	}
	r.Change("a", "feed", func(i *integration.Integration) { i.Enabled = true })
	r.minutes(15)
	if got := len(r.runs("a")); got != 1 {
		t.Errorf("%d runs after it was enabled, want 1", got)
	}
}

// TestTicker_ScheduleEnds ends with the schedule: paused, changed or deleted with its integration.
func TestTicker_ScheduleEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*integration.Integration, time.Time){
		"paused": func(i *integration.Integration, now time.Time) { *i = i.Paused(now) },
		"changed": func(i *integration.Integration, now time.Time) {
			i.Schedule = &integration.Schedule{Every: "24h", Since: now}
		},
		"removed": func(i *integration.Integration, _ time.Time) { i.Schedule = nil },
	}
	for name, edit := range tests {
		r := setup(t)
		r.follows("a", "15m", unchanged)
		r.Clock.Advance(time.Second)
		r.Change("a", "feed", func(i *integration.Integration) { edit(i, r.Clock.Now()) })
		r.minutes(40)
		if got := len(r.runs("a")); got != 0 {
			t.Errorf("%s: %d runs, want none", name, got)
		}
		r.wantNoTimers(r.Clock.Now())
	}
}

// TestTicker_ScheduleSpread spreads the companies over the interval.
func TestTicker_ScheduleSpread(t *testing.T) {
	t.Parallel()
	r := setup(t)
	companies := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	for _, company := range companies {
		r.follows(company, "1h", unchanged)
	}
	starts := map[time.Time]int{}
	most := 0
	r.minutes(60)
	for _, company := range companies {
		for _, run := range r.runs(company) {
			starts[run.RequestedAt]++
			most = max(most, starts[run.RequestedAt])
		}
	}
	if got := len(starts); got < len(companies)/2 {
		t.Errorf("the companies start in %d different minutes, want at least %d", got, len(companies)/2)
	}
	if most > 3 {
		t.Errorf("%d companies start in the same minute, want at most 3", most)
	}
}

// TestTicker_ScheduleConcurrent requests one sync for each timer, even if several tickers read it.
func TestTicker_ScheduleConcurrent(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.follows("a", "15m", unchanged)
	r.Clock.Advance(15 * time.Minute)
	var ticking sync.WaitGroup
	for range 8 {
		other := r.another()
		ticking.Go(func() {
			if err := other.Tick(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	ticking.Wait()
	if got := len(r.runs("a")); got != 1 {
		t.Errorf("%d runs, want 1", got)
	}
}
