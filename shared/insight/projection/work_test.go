package projection_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
)

// TestFold_Work counts the memories that refer to a goal while they change, move to another goal and are removed; a rebuild
// counts the same.
func TestFold_Work(t *testing.T) {
	t.Parallel()
	h := newHistory()
	put := func(n int, goalID string, work memory.Work) {
		h.after(time.Minute).put(memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{Provider: "github", GoalID: goalID, Work: work})
	}
	put(1, "a", memory.WorkOpen)
	put(2, "a", memory.WorkOpen)
	put(3, "a", memory.WorkBlocked)
	put(4, "", "")
	put(2, "a", memory.WorkDone)
	put(5, "b", memory.WorkOpen)
	put(5, "b", memory.WorkDone)
	put(1, "c", memory.WorkOpen) // leaves a
	atC := h.now
	h.after(time.Minute).remove(memory.Entity, memory.Key("5"))
	want := map[string]goal.Work{
		"a": {Blocked: 1, Done: 1, ChangedAt: atC}, "b": {ChangedAt: h.now}, "c": {Open: 1, ChangedAt: atC},
	}
	p, _ := h.fold(t)
	if diff := cmp.Diff(want, p.Goals.Work); diff != "" {
		t.Errorf("work differs (-want +got):\n%s", diff)
	}
	again, failed := projection.Rebuild(p, h.records())
	errtest.Must(t, failed.Err())
	if diff := cmp.Diff(want, again.Goals.Work); diff != "" {
		t.Errorf("rebuilt work differs (-want +got):\n%s", diff)
	}
}

// TestFold_WorkBounded counts the work of 50 goals, those that are listed first.
func TestFold_WorkBounded(t *testing.T) {
	t.Parallel()
	h := newHistory()
	due := h.now.Add(48 * time.Hour)
	h.put(integration.Entity, integration.Key("webhook"), webhook(h.now))
	g, _ := goal.Apply(goal.Goal{}, "webhook", goal.Draft{ExternalID: "listed", Title: "T", DueAt: &due, State: goal.Open}, h.now)
	h.put(goal.Entity, goal.Key(g.ID), g)
	for n := range 80 {
		goalID := fmt.Sprint(n)
		if n == 0 {
			goalID = g.ID
		}
		h.after(time.Minute).put(memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{Provider: "github", GoalID: goalID, Work: memory.WorkOpen})
	}
	p, _ := h.fold(t)
	if got := len(p.Goals.Work); got != 50 {
		t.Errorf("the work of %d goals is counted, want that of 50", got)
	}
	for _, kept := range []string{g.ID, "79", "31"} {
		if got := p.Goals.Work[kept].Open; got != 1 {
			t.Errorf("%d open items of goal %s, want 1", got, kept)
		}
	}
}
