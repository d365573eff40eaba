package syncer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/testkit/worktest"
)

func TestSandbox(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		p, err := pages(3, 15)(ctx, n, f)
		if n == 0 {
			p.Memories = append(p.Memories, memory.Draft{ExternalID: "untitled"})
			p.Goals = []goal.Draft{{ExternalID: "g", Title: "Ship", State: goal.Open}}
		}
		return p, err
	})
	rec := r.sync(syncrun.Sandbox)
	if diff := cmp.Diff(syncrun.Progress{Pages: 3, Fetched: 47, Failed: 1}, rec.Progress); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	if n := len(rec.Preview); n != syncrun.MaxPreview || rec.Preview[0].Title != "Title 0" || rec.Preview[15].Target != goal.Entity {
		t.Errorf("the preview has %d items: %+v", n, rec.Preview)
	}
	if slot := r.slot(); slot.State != nil || slot.ConfigDigest != "" {
		t.Errorf("the sandbox run stored a state: %+v", slot)
	}
	changes := r.entities()
	delete(changes, syncrun.Entity)
	delete(changes, syncrun.SlotEntity)
	if diff := cmp.Diff(map[string]int{integration.Entity: 1, "mark": 1}, changes); diff != "" {
		t.Errorf("more than the run was committed (-want +got):\n%s", diff)
	}
	if n := len(worktest.All[policy.Decision](r.Harness, "a", policy.Prefix)); n != 0 {
		t.Errorf("%d decisions", n)
	}
}

// TestLive creates new items, updates changed ones, and causes no write and no event for unchanged ones.
func TestLive(t *testing.T) {
	t.Parallel()
	r := setup(t)
	due := r.Clock.Now().Add(24 * time.Hour)
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{
			Memories: append(drafts(0, 150), memory.Draft{Title: "nameless"}, memory.Draft{ExternalID: "untitled"}), Goals: []goal.Draft{{ExternalID: "g", Title: "Ship", State: goal.Open, DueAt: &due}},
			State: json.RawMessage(`"first"`),
		}, nil
	})
	rec := r.sync(syncrun.Live)
	if diff := cmp.Diff(syncrun.Progress{Pages: 1, Fetched: 153, Created: 151, Failed: 2}, rec.Progress); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	if n := len(r.memories()); n != 150 {
		t.Errorf("%d memories", n)
	}
	if n := len(worktest.All[policy.Decision](r.Harness, "a", policy.Prefix)); n != 151 {
		t.Errorf("%d decisions", n)
	}
	if slot := r.slot(); string(slot.State) != `"first"` || slot.ConfigDigest == "" {
		t.Errorf("the slot is %+v", slot)
	}
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		all := drafts(0, 152)
		all[7].Title = "Another title"
		return connector.FetchedPage{Memories: all}, nil
	})
	rec = r.sync(syncrun.Live)
	if diff := cmp.Diff(syncrun.Progress{Pages: 1, Fetched: 152, Created: 2, Updated: 1, Unchanged: 149}, rec.Progress); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	if asked := r.provider.asked; string(asked[1].State) != `"first"` || asked[0].State != nil {
		t.Errorf("the connector was given the states %s and %s", asked[0].State, asked[1].State)
	}
	if n := r.entities(); n[memory.Entity] != 153 || n[goal.Entity] != 1 {
		t.Errorf("the feed has %v", n)
	}
}

// TestNotModified writes only the run, and keeps the state.
func TestNotModified(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.sync(syncrun.Live)
	r.provider.answer(func(_ context.Context, _ int, f connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{State: f.State}, nil
	})
	rec := r.sync(syncrun.Live)
	if diff := cmp.Diff(syncrun.Progress{Pages: 1}, rec.Progress); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	if slot := r.slot(); string(slot.State) != `"seen"` {
		t.Errorf("the state is %s", slot.State)
	}
	full := r.sync(syncrun.Live, func(rec *syncrun.StoredRun) { rec.Full = true })
	if last := r.provider.asked[len(r.provider.asked)-1]; !full.Full || !last.Full || last.State != nil {
		t.Errorf("a full run fetched with %+v", last)
	}
	r.Change("a", "paged", func(i *integration.Integration) { i.Config = json.RawMessage(`{"url":"other"}`) })
	r.sync(syncrun.Live)
	if last := r.provider.asked[len(r.provider.asked)-1]; last.State != nil {
		t.Errorf("after a change of configuration the state is %s", last.State)
	}
	if n := r.entities(); n[memory.Entity] != 3 {
		t.Errorf("the feed has %v", n)
	}
}

// TestRepeated counts the first of two items that a page lists under the same id, at every sync.
func TestRepeated(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		all := append(drafts(0, 120), drafts(0, 1)...)
		all[120].Title = "The other"
		return connector.FetchedPage{Memories: all}, nil
	})
	rec := r.sync(syncrun.Live)
	if diff := cmp.Diff(syncrun.Progress{Pages: 1, Fetched: 121, Created: 120, Unchanged: 1}, rec.Progress); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	rec = r.sync(syncrun.Live)
	if rec.Progress.Unchanged != 121 || r.entities()[memory.Entity] != 120 {
		t.Errorf("again: %+v", rec.Progress)
	}
}

// TestRefused writes no item that the policies deny. Each denial is a decision, and one timeline entry covers them all.
func TestRefused(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Change("a", "paged", func(i *integration.Integration) {
		i.Permissions = []integration.Port{integration.SyncPull, integration.GoalUpdate}
	})
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{Memories: drafts(0, 20), Goals: []goal.Draft{{ExternalID: "g", Title: "Ship", State: goal.Open}}}, nil
	})
	rec := r.sync(syncrun.Live)
	if diff := cmp.Diff(syncrun.Progress{Pages: 1, Fetched: 21, Created: 1, Failed: 20}, rec.Progress); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	verdicts := map[policy.Verdict]int{}
	for _, d := range worktest.All[policy.Decision](r.Harness, "a", policy.Prefix) {
		verdicts[d.Verdict]++
	}
	entries := worktest.All[timeline.Entry](r.Harness, "a", timeline.Prefix)
	if verdicts[policy.Denied] != 20 || verdicts[policy.Permitted] != 1 || len(r.memories()) != 0 || len(entries) != 1 || entries[0].Kind != timeline.PolicyDenied {
		t.Errorf("%v, %d memories, timeline %+v", verdicts, len(r.memories()), entries)
	}
}

// TestLarge splits large items, which grow further in JSON, so that each commit fits.
func TestLarge(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		all := drafts(0, 90)
		for i := range all {
			all[i].Body = strings.Repeat("<\n>", 64<<10/3)
		}
		return connector.FetchedPage{Memories: all}, nil
	})
	if rec := r.sync(syncrun.Live); rec.Progress.Created != 90 {
		t.Errorf("progress %+v", rec.Progress)
	}
}

// TestPages returns a run of several pages to the queue after each slice, and continues where it stopped.
func TestPages(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Slice = 25 * time.Second
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		r.Clock.Advance(10 * time.Second)
		return pages(7, 5)(ctx, n, f)
	})
	j := r.request(syncrun.Live)
	for slices := 1; ; slices++ {
		due := r.handle(j)
		if due.IsZero() {
			if slices != 3 {
				t.Errorf("the run took %d slices, want 3", slices)
			}
			break
		}
		rec := r.record(j)
		if due.After(r.Clock.Now()) || !rec.Work.LeaseUntil.IsZero() || rec.State != syncrun.Running {
			t.Fatalf("between slices: due %v, %+v", due, rec)
		}
		if want := 3 * slices; rec.Progress.Pages != want || rec.Progress.Created != want*5 || string(rec.Work.Checkpoint) != fmt.Sprint(want) {
			t.Errorf("after slice %d: %+v", slices, rec)
		}
	}
	if rec := r.ended(j, syncrun.Succeeded); rec.Progress.Pages != 7 || rec.Progress.Created != 35 || r.provider.fetches() != 7 {
		t.Errorf("%+v after %d fetches", rec.Progress, r.provider.fetches())
	}
}
