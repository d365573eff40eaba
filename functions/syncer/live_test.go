package syncer_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

func TestSyncer_Sandbox(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		p, err := pages(3, 15)(ctx, n, f)
		if n == 0 {
			p.Memories = append(p.Memories, memory.Draft{ExternalID: "untitled"})
			p.Skipped = []connector.Skipped{{Item: "odd", Reason: "not an object"}, {Reason: "not an object"}}
			p.Goals = []goal.Draft{{ExternalID: "g", Title: "Ship", State: goal.Open}}
		}
		p.Warnings = []string{"look at it"}
		return p, err
	})
	rec := r.sync(syncrun.Sandbox)
	r.wantProgress(rec, syncrun.Progress{Pages: 3, Fetched: 49, Failed: 3})
	skipped := []syncrun.Skipped{
		{Reason: "not an object", Items: 2, Example: "odd"}, {Reason: "title must not be empty", Items: 1, Example: "untitled"},
	}
	if diff := cmp.Diff(skipped, rec.Skipped); diff != "" {
		t.Errorf("skipped items differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"look at it"}, rec.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
	var want []syncrun.Preview
	for _, d := range drafts(0, syncrun.MaxPreview-1) {
		want = append(want, syncrun.Preview{Target: memory.Entity, ExternalID: d.ExternalID, Kind: d.Kind, Title: d.Title})
	}
	want = slices.Insert(want, 15, syncrun.Preview{Target: goal.Entity, ExternalID: "g", Title: "Ship"})
	if diff := cmp.Diff(want, rec.Preview); diff != "" {
		t.Errorf("preview differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(syncrun.Slot{}, r.slot()); diff != "" {
		t.Errorf("the sandbox run stored a state (-want +got):\n%s", diff)
	}
	changes := r.entities()
	delete(changes, syncrun.Entity)
	delete(changes, syncrun.SlotEntity)
	if diff := cmp.Diff(map[string]int{integration.Entity: 1, "mark": 1}, changes); diff != "" {
		t.Errorf("more than the run was committed (-want +got):\n%s", diff)
	}
	if n := len(worktest.All[policy.Decision](r.Harness, "a", policy.Prefix)); n != 0 {
		t.Errorf("%d decisions, want none", n)
	}
}

// TestSyncer_Live creates new items, updates changed ones, and causes no write and no event for unchanged ones.
func TestSyncer_Live(t *testing.T) {
	t.Parallel()
	r := setup(t)
	due := r.Clock.Now().Add(24 * time.Hour)
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{
			Memories: append(drafts(0, 150), memory.Draft{Title: "nameless"}, memory.Draft{ExternalID: "untitled"}),
			Goals:    []goal.Draft{{ExternalID: "g", Title: "Ship", State: goal.Open, DueAt: &due}},
			State:    json.RawMessage(`"first"`),
		}, nil
	})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 153, Created: 151, Failed: 2})
	r.wantMemories(150)
	if n := len(r.decisions()); n != 151 {
		t.Errorf("%d decisions, want 151", n)
	}
	slot := syncrun.Slot{State: json.RawMessage(`"first"`), ConfigDigest: connector.Digest(json.RawMessage(config))}
	if diff := cmp.Diff(slot, r.slot(), cmpopts.IgnoreFields(syncrun.Slot{}, "Began")); diff != "" {
		t.Errorf("slot differs (-want +got):\n%s", diff)
	}
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		all := drafts(0, 152)
		all[7].Title = "Another title"
		return connector.FetchedPage{Memories: all}, nil
	})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 152, Created: 2, Updated: 1, Unchanged: 149})
	asked := []connector.Fetch{{Config: json.RawMessage(config)}, {Config: json.RawMessage(config), State: slot.State}}
	if diff := cmp.Diff(asked, r.provider.asked); diff != "" {
		t.Errorf("fetches differ (-want +got):\n%s", diff)
	}
	n := r.entities()
	if got, want := [2]int{n[memory.Entity], n[goal.Entity]}, [2]int{153, 1}; got != want {
		t.Errorf("the feed has %v changes of memories and goals, want %v", got, want)
	}
}

// TestSyncer_OneCommit commits a page with its checkpoint in one transaction. DynamoDB takes 100 writes: those of 96 items, the
// run with its checkpoint, the slot, the integration's version and the verdicts.
func TestSyncer_OneCommit(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{1: 1, 50: 1, 96: 1, 97: 2, 192: 2} {
		r := setup(t)
		r.provider.answer(pages(1, size))
		var commits []int
		r.faulty.Before(func(ops []store.Op) error {
			commits = append(commits, len(ops))
			return nil
		})
		r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: size, Created: size})
		if got := len(commits) - 1; got != want { // the first claims the run
			t.Errorf("%d items: %d commits %v, want %d", size, got, commits[1:], want)
		}
		r.wantMemories(size)
		if n := len(r.decisions()); n != size {
			t.Errorf("%d items: %d decisions, want %d", size, n, size)
		}
	}
}

// TestSyncer_Widened fetches what was denied again as soon as the permissions allow it.
func TestSyncer_Widened(t *testing.T) {
	t.Parallel()
	r := setup(t)
	permit := func(narrowed bool, ports ...integration.Port) {
		r.Change("a", "paged", func(i *integration.Integration) { i.Permissions, i.Narrowed = ports, narrowed })
	}
	permit(true, integration.SyncPull)
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 3, Failed: 3})
	r.sync(syncrun.Live)
	permit(false, r.provider.Ports(nil)...)
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 3, Created: 3})
	want := []connector.Fetch{
		{Config: json.RawMessage(config)},
		{Config: json.RawMessage(config), State: json.RawMessage(`"seen"`)},
		{Config: json.RawMessage(config)}, // the state is of narrower permissions
	}
	if diff := cmp.Diff(want, r.provider.asked); diff != "" {
		t.Errorf("fetches differ (-want +got):\n%s", diff)
	}
}

// TestSyncer_Loosened reads everything again when the policies have changed since they denied an item, and only then: the provider
// does not list again what has not changed there.
func TestSyncer_Loosened(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if len(f.State) > 0 && !f.Full {
			return connector.FetchedPage{State: f.State}, nil
		}
		return pages(2, 3)(ctx, n, f)
	})
	store := func(policies ...policy.Statement) {
		r.Clock.Advance(policyengine.Fresh)
		r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: policies, UpdatedAt: r.Clock.Now()})
		r.Clock.Advance(2 * policyengine.Fresh)
	}
	store(policy.Statement{ID: "none", Mode: policy.Enforce, Text: `forbid (principal, action == Action::"memory.upsert", resource);`})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 2, Fetched: 6, Failed: 6})
	r.Clock.Advance(time.Minute)
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1})
	store()
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 2, Fetched: 6, Created: 6})
	if last := r.provider.asked[len(r.provider.asked)-1]; string(last.State) != `"seen"` {
		t.Errorf("the state is %s, want it: what the connector learned still holds", last.State)
	}
	store()
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1})
}

// TestSyncer_Unanswered asks again for the approval of an item when the first request has expired, and not before: the provider does
// not list again what has not changed there.
func TestSyncer_Unanswered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if len(f.State) > 0 && !f.Full {
			return connector.FetchedPage{State: f.State}, nil
		}
		return pages(1, 2)(ctx, n, f)
	})
	r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{{
		ID: "ask", Mode: policy.Enforce, Text: `@approval("agree") forbid (principal, action == Action::"memory.upsert", resource) unless { context.approval == context.digest };`,
	}}, UpdatedAt: r.Clock.Now().Add(-time.Hour)})
	asked := func(want int) {
		t.Helper()
		if got := len(worktest.All[approval.Approval](r.Harness, "a", approval.Prefix)); got != want {
			t.Errorf("%d approvals, want %d", got, want)
		}
	}
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 2, Failed: 2})
	asked(2)
	r.Clock.Advance(approval.Waits / 2)
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1})
	r.Clock.Advance(approval.Waits / 2)
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 2, Failed: 2})
	asked(4)
	r.Clock.Advance(approval.Waits / 2)
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1})
}

// TestSyncer_OtherCredentials reads everything again with credentials that were stored after the last run began: they may show more.
func TestSyncer_OtherCredentials(t *testing.T) {
	t.Parallel()
	r := setup(t)
	stored := func() {
		r.Change("a", "paged", func(i *integration.Integration) {
			i.Credentials = &integration.CredentialNames{Names: []string{"token"}, UpdatedAt: r.Clock.Now()}
		})
	}
	r.Clock.Advance(time.Minute)
	stored()
	r.Clock.Advance(time.Minute)
	r.sync(syncrun.Live)
	r.Clock.Advance(time.Minute)
	r.sync(syncrun.Live)
	stored()
	r.Clock.Advance(time.Minute)
	r.sync(syncrun.Live)
	var resumed []bool
	for _, f := range r.provider.asked {
		resumed = append(resumed, f.State != nil)
	}
	if diff := cmp.Diff([]bool{false, true, false}, resumed); diff != "" {
		t.Errorf("fetches with the state of the run before differ (-want +got):\n%s", diff)
	}
}

// TestSyncer_NotModified writes only the run, and keeps the state.
func TestSyncer_NotModified(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.sync(syncrun.Live)
	r.provider.answer(func(_ context.Context, _ int, f connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{State: f.State}, nil
	})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1})
	if got := string(r.slot().State); got != `"seen"` {
		t.Errorf(`the state is %s, want "seen"`, got)
	}
	full := r.sync(syncrun.Live, func(rec *syncrun.StoredRun) { rec.Full = true })
	if !full.Full {
		t.Error("the record of a full run says that it is not full, want that it is")
	}
	const other = `{"url":"other"}`
	r.Change("a", "paged", func(i *integration.Integration) { i.Config = json.RawMessage(other) })
	r.sync(syncrun.Live)
	want := []connector.Fetch{
		{Config: json.RawMessage(config)},
		{Config: json.RawMessage(config), State: json.RawMessage(`"seen"`)},
		{Config: json.RawMessage(config), State: json.RawMessage(`"seen"`), Full: true},
		{Config: json.RawMessage(other)}, // the state is of another configuration
	}
	if diff := cmp.Diff(want, r.provider.asked); diff != "" {
		t.Errorf("fetches differ (-want +got):\n%s", diff)
	}
	if n := r.entities(); n[memory.Entity] != 3 {
		t.Errorf("the feed has %v, want 3 memories", n)
	}
}

// TestSyncer_Repeated counts the first of two items that a page lists under the same id, at every sync.
func TestSyncer_Repeated(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		all := append(drafts(0, 120), drafts(0, 1)...)
		all[120].Title = "The other"
		return connector.FetchedPage{Memories: all}, nil
	})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 121, Created: 120, Unchanged: 1})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 121, Unchanged: 121})
	if n := r.entities(); n[memory.Entity] != 120 {
		t.Errorf("the feed has %v, want 120 memories", n)
	}
}

// TestSyncer_Repeated_newer takes the later state of two that a page lists under the same id, in whichever order they come.
func TestSyncer_Repeated_newer(t *testing.T) {
	t.Parallel()
	older, newer := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	states := []struct {
		title   string
		changed *time.Time
	}{{"older", &older}, {"newer", &newer}}
	for name, order := range map[string][]int{"ascending": {0, 1}, "descending": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.provider.answer(func(context.Context, int, connector.Fetch) (page connector.FetchedPage, err error) {
				for _, n := range order {
					s := states[n]
					page.Memories = append(page.Memories, memory.Draft{ExternalID: "m", Kind: "entry", Title: s.title, UpdatedAt: s.changed})
					page.Goals = append(page.Goals, goal.Draft{ExternalID: "g", Title: s.title, State: goal.Open, UpdatedAt: s.changed})
				}
				return page, nil
			})
			r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 4, Created: 2, Unchanged: 2})
			if got := worktest.All[memory.Memory](r.Harness, "a", memory.Prefix)[0].Title; got != "newer" {
				t.Errorf("the memory is the %s one, want the newer one", got)
			}
			if got := worktest.All[goal.Goal](r.Harness, "a", goal.Prefix)[0].Title; got != "newer" {
				t.Errorf("the goal is the %s one, want the newer one", got)
			}
		})
	}
}

// TestSyncer_Refused writes no item that the policies deny. Each denial is a decision, and one timeline entry covers them
// all.
func TestSyncer_Refused(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Change("a", "paged", func(i *integration.Integration) {
		i.Permissions = []integration.Port{integration.SyncPull, integration.GoalUpdate}
	})
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{Memories: drafts(0, 20), Goals: []goal.Draft{{ExternalID: "g", Title: "Ship", State: goal.Open}}}, nil
	})
	rec := r.sync(syncrun.Live)
	r.wantProgress(rec, syncrun.Progress{Pages: 1, Fetched: 21, Created: 1, Failed: 20})
	skipped := []syncrun.Skipped{{Reason: "the policies deny it", Items: 20, Example: drafts(0, 1)[0].ExternalID}}
	if diff := cmp.Diff(skipped, rec.Skipped); diff != "" {
		t.Errorf("skipped items differ (-want +got):\n%s", diff)
	}
	r.wantMemories(0)
	verdicts := map[policy.Verdict]int{}
	for _, d := range r.decisions() {
		verdicts[d.Verdict]++
	}
	if diff := cmp.Diff(map[policy.Verdict]int{policy.Denied: 20, policy.Permitted: 1}, verdicts); diff != "" {
		t.Errorf("verdicts differ (-want +got):\n%s", diff)
	}
	var entries []timeline.Kind
	for _, e := range worktest.All[timeline.Entry](r.Harness, "a", timeline.Prefix) {
		entries = append(entries, e.Kind)
	}
	if diff := cmp.Diff([]timeline.Kind{timeline.PolicyDenied}, entries); diff != "" {
		t.Errorf("timeline differs (-want +got):\n%s", diff)
	}
	subject := worktest.All[timeline.Entry](r.Harness, "a", timeline.Prefix)[0].Subject.ID
	var first policy.Decisions
	if !r.Get("a", policy.Prefix+subject, &first) {
		t.Fatalf("there is no decision %s, which the timeline names", subject)
	}
	if first.Verdict != policy.Denied {
		t.Errorf("the verdict that the timeline names is %s, want denied", first.Verdict)
	}
}

// TestSyncer_Large splits large items, which grow further in JSON, so that each commit fits.
func TestSyncer_Large(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		all := drafts(0, 90)
		for i := range all {
			all[i].Body = strings.Repeat("<\n>", 64<<10/3)
		}
		return connector.FetchedPage{Memories: all}, nil
	})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 90, Created: 90})
}

// TestSyncer_Pages returns a run of several pages to the queue after each slice, and continues where it stopped.
func TestSyncer_Pages(t *testing.T) {
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
		if due.After(r.Clock.Now()) {
			t.Fatalf("after slice %d the run is due at %v, want at once, at %v", slices, due, r.Clock.Now())
		}
		done := 3 * slices
		r.wantRun(j, syncrun.StoredRun{
			Run:  syncrun.Run{State: syncrun.Running, Progress: syncrun.Progress{Pages: done, Fetched: done * 5, Created: done * 5}},
			Work: syncrun.Work{Checkpoint: json.RawMessage(strconv.Itoa(done))},
		})
	}
	r.wantProgress(r.ended(j, syncrun.Succeeded), syncrun.Progress{Pages: 7, Fetched: 35, Created: 35})
	r.wantFetches(7)
}

// TestSyncer_Background carries out every page, and the sweep, where the process permits it. Fetches do not wait for that. A run whose
// worker is stopped meanwhile goes on where it was.
func TestSyncer_Background(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(pages(3, 5))
	turns := 0
	r.Background = func(_ context.Context, work func() error) error {
		turns++
		r.wantFetches(min(turns, 3))
		r.wantMemories(5 * min(turns-1, 3))
		return work()
	}
	j := r.request(syncrun.Live, func(rec *syncrun.StoredRun) { rec.Full = true })
	r.finish(j, syncrun.Succeeded)
	if turns < 3 {
		t.Errorf("%d turns, want one for each of 3 pages", turns)
	}
	r.wantMemories(15)

	ctx, stop := context.WithCancel(t.Context())
	r.Background = func(ctx context.Context, _ func() error) error {
		stop()
		return ctx.Err()
	}
	r.provider.answer(pages(1, 20))
	j = r.request(syncrun.Live)
	_, err := r.Handle(ctx, r.message(j))
	errtest.Must(t, err)
	r.wantMemories(15)
	r.Background = nil
	r.finish(j, syncrun.Succeeded)
	r.wantMemories(20)
}
