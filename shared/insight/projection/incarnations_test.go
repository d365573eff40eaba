package projection_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
)

// TestFold_Incarnations shows of an integration that was deleted and configured again only what belongs to the new one, in any order
// of the changes. The dead letters of the former endpoint can still be found.
func TestFold_Incarnations(t *testing.T) {
	t.Parallel()
	former, latter := id.At(noon(), "former"), id.At(noon().Add(time.Hour), "latter")
	fail := func(h *history, n int, incarnation string, end delivery.State) {
		d := newDelivery(h.now, n, "webhook")
		d.Incarnation = incarnation
		d.Log(delivery.Attempt{State: delivery.Failed, At: h.now})
		d.End(end)
		h.deliver(d)
	}
	configure := func(h *history, incarnation string) {
		i := webhook(h.now)
		i.Incarnation = incarnation
		h.put(integration.Entity, "INTEGRATION#webhook", i)
	}
	sync := func(h *history, incarnation string) {
		h.put(syncrun.Entity, syncrun.Key(id.At(h.now, incarnation)), syncrun.StoredRun{Incarnation: incarnation, Run: syncrun.Run{
			ID: id.At(h.now, incarnation), Provider: "webhook", Mode: syncrun.Live, State: syncrun.Failed,
		}})
	}
	for _, late := range []bool{false, true} {
		h := newHistory()
		configure(h, former)
		old := func() {
			fail(h, 1, former, delivery.Dead)
			fail(h, 2, former, delivery.Held)
			sync(h, former)
		}
		if !late {
			old()
		}
		h.remove(integration.Entity, "INTEGRATION#webhook")
		h.after(time.Hour)
		configure(h, latter)
		h.after(time.Minute)
		if late { // an attempt and a run that were in flight
			old()
		}
		p, _ := h.fold(t)
		if got := waiting(p); got != (counts{}) {
			t.Errorf("late %t: %+v of the new endpoint, want none", late, got)
		}
		if got := p.Integrations["webhook"].LastFailureAt; !got.IsZero() {
			t.Errorf("late %t: the new endpoint failed at %v, want never", late, got)
		}
		if got := p.Integrations["webhook"].FailingSince; !got.IsZero() {
			t.Errorf("late %t: the new endpoint fails since %v, want no failure", late, got)
		}
		if diff := cmp.Diff(projection.Sync{}, p.Syncs["webhook"]); diff != "" {
			t.Errorf("late %t: syncs of the new integration differ (-want +got):\n%s", late, diff)
		}
		dead := 0
		for _, span := range p.DeadLetters(func(string) bool { return true }) {
			dead += span.Count
		}
		if dead != 1 {
			t.Errorf("late %t: %d dead letters, want 1", late, dead)
		}
		fail(h, 3, latter, delivery.Dead)
		if p, _ = h.fold(t); waiting(p) != (counts{Dead: 1}) {
			t.Errorf("late %t: %+v of the new endpoint, want one dead letter", late, waiting(p))
		}
	}
}

// TestFold_Incarnations_Memories counts the memories of an integration that was deleted apart from those of the next one of its name,
// in any order of the changes.
func TestFold_Incarnations_Memories(t *testing.T) {
	t.Parallel()
	formerID, latterID := id.At(noon(), "former"), id.At(noon().Add(time.Hour), "latter")
	for _, late := range []bool{false, true} {
		h := newHistory()
		put := func(incarnation, key string) {
			h.put(memory.Entity, memory.Key(key), memory.Memory{Provider: "feed", Incarnation: incarnation, SourceUpdatedAt: new(h.now.Add(-time.Second))})
		}
		if !late {
			put(formerID, "1")
			put(formerID, "2")
		}
		put(latterID, "3")
		if late { // a rebuild reads the records in the order of their keys
			put(formerID, "1")
			put(formerID, "2")
		}
		p, _ := h.fold(t)
		counts := map[string]int64{}
		for name, m := range p.Memory.Providers {
			counts[name] = m.Count
		}
		if diff := cmp.Diff(map[string]int64{"feed": 1, "former": 2}, counts); diff != "" {
			t.Errorf("late %t: memories differ (-want +got):\n%s", late, diff)
		}
		if p.Memory.Total != 3 {
			t.Errorf("late %t: %d memories, want 3", late, p.Memory.Total)
		}
		h.remove(memory.Entity, memory.Key("1"))
		if p, _ = h.fold(t); p.Memory.Providers["former"].Count != 1 {
			t.Errorf("late %t: %d memories of the former integration after one was removed, want 1", late, p.Memory.Providers["former"].Count)
		}
	}
}

// TestFold_Incarnations_Goals counts the goals of an integration until it is deleted, then none, and then those of the next one of its
// name, in any order of the changes.
func TestFold_Incarnations_Goals(t *testing.T) {
	t.Parallel()
	h := newHistory()
	configure := func(provider string) string {
		i := webhook(h.now)
		i.Provider, i.Incarnation = provider, id.At(h.now, provider)
		h.put(integration.Entity, integration.Key(provider), i)
		return i.Incarnation
	}
	pursue := func(provider, incarnation, name string, state goal.State) {
		g, _ := goal.Apply(goal.Goal{}, provider, goal.Draft{ExternalID: name, Incarnation: incarnation, Title: name, State: state}, h.now)
		h.put(goal.Entity, goal.Key(g.ID), g)
	}
	r := rand.New(rand.NewPCG(7, 7))
	expect := func(step string, want projection.GoalCounts, total int, listed, former []string) {
		t.Helper()
		p, _ := h.fold(t)
		if p.Goals.GoalCounts != want {
			t.Errorf("%s: %+v, want %+v", step, p.Goals.GoalCounts, want)
		}
		if p.Goals.Total != total {
			t.Errorf("%s: %d goals, want %d", step, p.Goals.Total, total)
		}
		if diff := cmp.Diff([2][]string{listed, former}, [2][]string{goalTitles(p.Goals.Listed), goalTitles(p.Goals.Former)}); diff != "" {
			t.Errorf("%s: lists differ (-want +got):\n%s", step, diff)
		}
		for range 50 {
			got, _ := foldCut(t, r, interleave(r, h.changes, 1000))
			got.Applied = p.Applied
			if diff := cmp.Diff(encode(t, p), encode(t, got)); diff != "" {
				t.Fatalf("%s: the context depends on the order (-want +got):\n%s", step, diff)
			}
		}
		again, failed := projection.Rebuild(p, h.records())
		errtest.Must(t, failed.Err())
		if diff := cmp.Diff(p.Goals, again.Goals, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: rebuilt goals differ (-want +got):\n%s", step, diff)
		}
	}
	other := configure("webhook-a")
	pursue("webhook-a", other, "other", goal.Open)
	first := configure("webhook")
	h.after(time.Minute)
	pursue("webhook", first, "a", goal.Open)
	pursue("webhook", first, "b", goal.Open)
	pursue("webhook", first, "c", goal.Closed)
	expect("connected", projection.GoalCounts{Open: 3, Closed: 1, Aligned: 3}, 4, []string{"a", "b", "other"}, nil)
	h.after(time.Minute).remove(integration.Entity, integration.Key("webhook"))
	expect("deleted", projection.GoalCounts{Open: 1, Aligned: 1}, 4, []string{"other"}, []string{"a", "b"})
	second := configure("webhook")
	expect("connected again", projection.GoalCounts{Open: 1, Aligned: 1}, 4, []string{"other"}, nil)
	h.after(time.Minute)
	pursue("webhook", second, "a", goal.Open)
	expect("synced again", projection.GoalCounts{Open: 2, Aligned: 2}, 5, []string{"a", "other"}, nil)
}

func goalTitles(listed []projection.Goal) (all []string) {
	for _, g := range listed {
		all = append(all, g.Title)
	}
	slices.Sort(all)
	return all
}

// TestRebuild_Incarnations keeps the time of a success whose run has expired, and what is known of an integration that was deleted.
func TestRebuild_Incarnations(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for _, provider := range []string{"feed", "deleted"} {
		i := webhook(h.now)
		i.Provider, i.Incarnation = provider, id.At(h.now, provider)
		h.put(integration.Entity, integration.Key(provider), i)
	}
	end := h.now
	run := syncrun.Run{ID: id.At(h.now, "run"), Provider: "feed", Mode: syncrun.Live, State: syncrun.Succeeded, FinishedAt: &end}
	h.put(syncrun.Entity, syncrun.Key(run.ID), syncrun.StoredRun{Incarnation: id.At(h.now, "feed"), Run: run})
	h.remove(integration.Entity, integration.Key("deleted"))
	h.remove(syncrun.Entity, syncrun.Key(run.ID))
	was, _ := h.fold(t)
	got, failed := projection.Rebuild(was, h.records())
	errtest.Must(t, failed.Err())
	if !got.Syncs["feed"].LastSucceededAt.Equal(end) {
		t.Errorf("the feed succeeded at %v, want %v", got.Syncs["feed"].LastSucceededAt, end)
	}
	if diff := cmp.Diff(was.Incarnations, got.Incarnations); diff != "" {
		t.Errorf("incarnations differ (-want +got):\n%s", diff)
	}
}
