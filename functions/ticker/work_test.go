package ticker_test

import (
	"testing"
	"time"

	"orgops/functions/projector"
	"orgops/shared/domain/event"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestTicker_Work lets work that refers to a goal be blocked, go on and become stale. Each turn changes the goal's alignment
// once, and is announced only when the status changes. When its integration is deleted, the goal changes no more.
func TestTicker_Work(t *testing.T) {
	t.Parallel()
	r := setup(t)
	midweek(r)
	p := &projector.Projector{Store: r.Store, Logger: r.Logger, Now: r.Clock.Now}
	now := r.Clock.Now()
	g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{ExternalID: "1", Title: "Ship", State: goal.Open, Progress: 0.5}, now)
	r.Put("a", integration.Key("github"), integration.Entity, integration.Integration{Provider: "github"})
	r.Put("a", goal.Key(g.ID), goal.Entity, g)
	var m memory.Memory
	var announced []string
	fold := func(n int) { // the next changes
		changes := r.Changes(n)
		errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: changes}))
		for _, c := range changes {
			events, err := event.Of(c)
			errtest.Must(t, err)
			for _, e := range events {
				if e.Type == event.GoalAlignmentChanged {
					announced = append(announced, e.Type)
				}
			}
		}
	}
	work := func(w memory.Work) {
		next, _ := memory.Apply(m, "github", memory.Draft{ExternalID: "7", Title: "Issue", Goal: "1", Work: w}, r.Clock.Now())
		r.Put("a", memory.Key(next.ID), memory.Entity, next)
		m = next
	}
	fold(2)
	fold(2)                                                                               // their entries
	expect := func(step string, stalled goal.Stall, status goal.Status, changes ...int) { // of the tick, and of folding those
		t.Helper()
		r.tick()
		for _, n := range changes {
			fold(n)
		}
		var got goal.Goal
		r.Get("a", goal.Key(g.ID), &got)
		if got.Stalled != stalled {
			t.Errorf("%s: stalled = %q, want %q", step, got.Stalled, stalled)
		}
		if got.Alignment.Status != status {
			t.Errorf("%s: status = %s, want %s (%v)", step, got.Alignment.Status, status, got.Alignment.Reasons)
		}
	}
	work(memory.WorkOpen)
	fold(1)
	expect("open", "", goal.Aligned)
	r.Clock.Advance(time.Hour)
	work(memory.WorkBlocked)
	fold(1)
	expect("blocked", goal.Blocked, goal.Drifting, 1, 1) // the goal, then its entry
	r.Clock.Advance(time.Hour)
	work(memory.WorkOpen)
	fold(1)
	expect("open again", "", goal.Drifting, 1) // a status lasts a day
	r.Clock.Advance(24 * time.Hour)
	expect("a day later", "", goal.Aligned, 1, 1)
	r.Clock.Advance(goal.StaleAfter)
	expect("untouched", goal.Stale, goal.Drifting, 2, 1)
	if got := len(announced); got != 3 {
		t.Errorf("%d changes of the status were announced, want 3", got)
	}
	r.Clock.Advance(25 * time.Hour)
	work(memory.WorkDone)
	fold(1)
	expect("done", "", goal.Aligned, 1, 1)
	c := r.Company("a")
	errtest.Must(t, c.Commit(t.Context(), c.Delete(integration.Key("github"), integration.Entity, 1)))
	fold(1)
	work(memory.WorkBlocked)
	fold(1)
	expect("deleted", "", goal.Aligned) // kept as its integration left it
}
