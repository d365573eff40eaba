package syncer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// listing lists the ids that it holds, so many a page, as memories of the kind "entry"; a goal for each id that begins with "g".
type listing struct {
	*paged
	mu       sync.Mutex
	ids      []string
	size     int
	numbered bool // says that its pages are
}

func (*listing) Lists(json.RawMessage) connector.Listed {
	return connector.Listed{Kinds: []string{"entry"}, Goals: true}
}

func (l *listing) hold(ids ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = ids
}

func (l *listing) list(_ context.Context, n int, _ connector.Fetch) (connector.FetchedPage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	page := connector.FetchedPage{State: json.RawMessage(`"seen"`), Shifting: l.numbered && n > 0}
	until := min((n+1)*l.size, len(l.ids))
	for _, id := range l.ids[min(n*l.size, len(l.ids)):until] {
		if id[0] == 'g' {
			page.Goals = append(page.Goals, goal.Draft{ExternalID: id, Title: id, State: goal.Open})
			continue
		}
		page.Memories = append(page.Memories, memory.Draft{ExternalID: id, Kind: "entry", Title: id})
	}
	if until < len(l.ids) {
		page.State, page.Checkpoint = nil, json.RawMessage(strconv.Itoa(n+1))
	}
	return page, nil
}

func setupListing(t *testing.T, size int, ids ...string) (*running, *listing) {
	t.Helper()
	r := setup(t)
	l := &listing{paged: r.provider, ids: ids, size: size}
	r.provider.answer(l.list)
	r.Connectors = connector.New(l)
	return r, l
}

func numbered(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i))
	}
	return ids
}

func full(rec *syncrun.StoredRun) { rec.Full = true }

// stored returns the provider's ids of all stored memories and goals.
func (r *running) stored() (ids []string) {
	r.T.Helper()
	for _, m := range worktest.All[memory.Memory](r.Harness, "a", memory.Prefix) {
		ids = append(ids, m.ExternalID)
	}
	for _, g := range worktest.All[goal.Goal](r.Harness, "a", goal.Prefix) {
		ids = append(ids, g.ExternalID)
	}
	slices.Sort(ids)
	return ids
}

func (r *running) wantStored(want ...string) {
	r.T.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, r.stored()); diff != "" {
		r.T.Errorf("stored items differ (-want +got):\n%s", diff)
	}
}

// TestSyncer_Deletions_Former keeps what a deleted integration has imported, for reading. The next one of its name has its own items,
// also for the same ids.
func TestSyncer_Deletions_Former(t *testing.T) {
	t.Parallel()
	r, l := setupListing(t, 100, "m1", "m2", "g1", "g2")
	r.allow()
	r.sync(syncrun.Live, full)
	former := worktest.All[memory.Memory](r.Harness, "a", memory.Prefix)
	next, _, err := integration.Load(t.Context(), r.Company("a"), "paged")
	errtest.Must(t, err)
	next.Incarnation = id.New()
	r.Put("a", integration.Key("paged"), integration.Entity, next)
	own := func(rec *syncrun.StoredRun) { rec.Full, rec.Incarnation = true, next.Incarnation }
	r.Clock.Advance(time.Minute)
	l.hold("m1", "m3", "g1")
	r.wantProgress(r.sync(syncrun.Live, own), syncrun.Progress{Pages: 1, Fetched: 3, Created: 3})
	r.wantStored("m1", "m2", "g1", "g2", "m1", "m3", "g1")
	r.Clock.Advance(time.Minute)
	l.hold("m3")
	r.sync(syncrun.Live, own)
	r.wantStored("m1", "m2", "g1", "g2", "m3")
	var kept []memory.Memory
	for _, m := range worktest.All[memory.Memory](r.Harness, "a", memory.Prefix) {
		if m.Incarnation == "" {
			kept = append(kept, m)
		}
	}
	if diff := cmp.Diff(former, kept); diff != "" {
		t.Errorf("memories of the former integration differ (-want +got):\n%s", diff)
	}
}

// TestSyncer_Deletions removes what a full run did not list, and only then. An item with another id is another item.
func TestSyncer_Deletions(t *testing.T) {
	t.Parallel()
	r, l := setupListing(t, 100, append(numbered("m", 250), "g1", "g2")...)
	r.allow()
	r.sync(syncrun.Live, full)
	r.put("other", "m1", "entry")         // of another provider
	r.put("paged", "comment", "response") // of a kind that no run lists
	r.Clock.Advance(1)
	l.hold(append(numbered("m", 5), "g2", "changed")...)
	r.sync(syncrun.Live)
	if got := len(r.stored()); got != 255 {
		t.Errorf("%d items after an incremental run, want all 255", got)
	}
	r.wantProgress(r.sync(syncrun.Live, full), syncrun.Progress{Pages: 1, Fetched: 7, Unchanged: 7, Deleted: 246})
	r.wantStored("m0", "m1", "m2", "m3", "m4", "g2", "changed", "m1", "comment")
	actions := map[string]int{}
	for _, d := range r.decisions() {
		actions[d.Action]++
	}
	if diff := cmp.Diff(map[string]int{"memory.upsert": 251, "goal.update": 2, "memory.delete": 245, "goal.delete": 1, "sync.remove": 1}, actions); diff != "" {
		t.Errorf("decisions differ (-want +got):\n%s", diff)
	}
	if got := string(r.slot().State); got != `"seen"` {
		t.Errorf(`the state is %s, want "seen"`, got)
	}
}

// put stores a memory that no run of this test has written.
func (r *running) put(provider, externalID, kind string) {
	r.T.Helper()
	m, _ := memory.Apply(memory.Memory{}, provider, memory.Draft{ExternalID: externalID, Kind: kind, Title: externalID}, r.Clock.Now())
	r.Put("a", memory.Key(m.ID), memory.Entity, m)
}

// TestSyncer_DeletionsSpared removes nothing if a page was incomplete, the run failed or was a rehearsal, the policies deny it,
// or an item arrived during the run.
func TestSyncer_DeletionsSpared(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) (*running, *listing) {
		t.Helper()
		r, l := setupListing(t, 2, "m0", "m1", "m2")
		r.sync(syncrun.Live, full)
		r.Clock.Advance(1)
		l.hold("m0", "m1", "m9")
		return r, l
	}
	t.Run("incomplete", func(t *testing.T) {
		t.Parallel()
		r, l := prepare(t)
		r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
			page, err := l.list(ctx, n, f)
			page.Incomplete = n == 0
			return page, err
		})
		r.sync(syncrun.Live, full)
		r.wantStored("m0", "m1", "m2", "m9")
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		r, l := prepare(t)
		r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
			if n == 1 {
				return connector.FetchedPage{}, errDown
			}
			return l.list(ctx, n, f)
		})
		r.finishLate(r.request(syncrun.Live, full), syncrun.Failed)
		r.wantStored("m0", "m1", "m2")
	})
	t.Run("rehearsal", func(t *testing.T) {
		t.Parallel()
		r, _ := prepare(t)
		r.sync(syncrun.Sandbox, full)
		r.wantStored("m0", "m1", "m2")
	})
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		r, _ := prepare(t)
		r.Change("a", "paged", func(i *integration.Integration) { i.Permissions = []integration.Port{integration.SyncPull} })
		r.sync(syncrun.Live, full)
		r.wantStored("m0", "m1", "m2")
		denied := slices.IndexFunc(r.decisions(), func(d policy.Decision) bool { return d.Action == "memory.delete" && d.Verdict == policy.Denied })
		if denied < 0 {
			t.Errorf("decisions %+v, want one that denies the deletion", r.decisions())
		}
	})
	t.Run("arrived during the run", func(t *testing.T) {
		t.Parallel()
		r, l := prepare(t)
		r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
			if n == 1 {
				r.Clock.Advance(1)
				r.put("paged", "by webhook", "entry")
			}
			return l.list(ctx, n, f)
		})
		r.sync(syncrun.Live, full)
		r.wantStored("m0", "m1", "m9", "by webhook")
	})
}

// TestSyncer_Kills kills workers fifty times, in the middle of fetches, before and after commits, in pages and in the sweep.
// No item is lost, doubled or kept by mistake, and the counts are those of an undisturbed run. With numbered pages the run after
// removes what is gone.
func TestSyncer_Kills(t *testing.T) {
	t.Parallel()
	for _, pagesNumbered := range []bool{false, true} {
		t.Run(fmt.Sprintf("numbered pages: %t", pagesNumbered), func(t *testing.T) {
			t.Parallel()
			r, l := setupListing(t, 4, append(numbered("m", 400), "g1")...)
			l.numbered = pagesNumbered
			r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
				if n%2 == 1 { // every other page comes late, so it is written although it changes nothing
					r.Clock.Advance(5 * time.Second)
				}
				return l.list(ctx, n, f)
			})
			r.allow()
			r.finishLate(r.request(syncrun.Live, full), syncrun.Succeeded)
			r.Clock.Advance(1)
			left := append(numbered("m", 200), numbered("new", 200)...)
			l.hold(left...)
			want := syncrun.Progress{Pages: 100, Fetched: 400, Created: 200, Unchanged: 200, Deleted: 201}
			if pagesNumbered {
				want.Deleted = 0
			}
			r.wantProgress(r.survive(r.request(syncrun.Live, full)), want)
			if pagesNumbered {
				r.wantMissed(201)
				r.Clock.Advance(1)
				want = syncrun.Progress{Pages: 100, Fetched: 400, Unchanged: 400, Deleted: 201}
				r.wantProgress(r.survive(r.request(syncrun.Live, full)), want)
			}
			r.wantStored(left...)
			r.wantMissed(0)
		})
	}
}

// survive kills fifty workers of a run, and lets others finish it.
func (r *running) survive(j syncrun.Job) syncrun.StoredRun {
	r.T.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for kills < 50 && !r.record(j).State.Ended() {
		commits, last := 0, 1+kills%2 // a page that stops three workers ends the run, so every other one commits a page
		after := random.IntN(2) == 0
		r.faulty.Before(func(ops []store.Op) error {
			if commits++; commits <= last {
				return nil
			}
			if after { // the commit is stored, and the worker does not learn of it
				_ = r.Harness.Store.Commit(context.Background(), ops...)
			}
			runtime.Goexit()
			return nil
		})
		r.lose(j)
		kills++
	}
	r.faulty.Before(nil)
	if kills < 45 {
		r.T.Errorf("the run ended after %d kills, want at least 45", kills)
	}
	if !r.record(j).State.Ended() {
		r.finishLate(j, syncrun.Succeeded)
	}
	return r.ended(j, syncrun.Succeeded)
}

// TestSyncer_Writes imports 10,000 items in pages of 100 with at most 1.1 writes an item, and holds no more memory at the last pages
// than at the first ones. It finds them unchanged without a write of an item. It is not parallel, because it measures the memory
// of the whole process.
func TestSyncer_Writes(t *testing.T) { //nolint:paralleltest // it measures the whole process
	const items, most = 10_000, 1 << 20 // of the 3 MB that the items have together
	r, l := setupListing(t, 100, numbered("m", items)...)
	l.numbered = true
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		page, err := l.list(ctx, n, f)
		for i := range page.Memories {
			page.Memories[i].Body = strings.Repeat("x", 300)
		}
		return page, err
	})
	writes, onItems, commits := 0, 0, 0
	var held []uint64 // memory in use at each 20th commit
	r.faulty.Before(func(ops []store.Op) error {
		for _, op := range ops {
			if op.Action != store.Check {
				writes++
			}
			if op.Entity == memory.Entity {
				onItems++
			}
		}
		if commits++; commits%20 == 0 {
			held = append(held, inUse())
		}
		return nil
	})
	r.wantProgress(r.finishLate(r.request(syncrun.Live, full), syncrun.Succeeded), syncrun.Progress{Pages: 100, Fetched: items, Created: items})
	if got := float64(writes) / items; got > 1.1 {
		t.Errorf("%.3f writes an item, want at most 1.1", got)
	}
	if len(held) < 5 {
		t.Fatalf("%d measurements of memory, want 5 or more", len(held))
	}
	first, last := held[0], held[len(held)-1]
	t.Logf("%.3f writes an item; %d kB in use at commit 20, %d kB at commit %d", float64(writes)/items, first>>10, last>>10, 20*len(held)) // for the record
	if last > first+most {
		t.Errorf("%d kB more in use than at commit 20, want at most %d kB more", (last-first)>>10, most>>10)
	}
	writes, onItems = 0, 0
	r.wantProgress(r.finishLate(r.request(syncrun.Live), syncrun.Succeeded), syncrun.Progress{Pages: 100, Fetched: items, Unchanged: items})
	if onItems != 0 {
		t.Errorf("%d writes of unchanged items, want none", onItems)
	}
	if writes > 200 {
		t.Errorf("%d writes of a run that changes nothing, want at most two a page", writes)
	}
}

// inUse returns the bytes of the heap that are in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
