package syncer_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
)

// waiting starts a full run that has to wait for a user, and returns its job.
func (r *running) waiting(removes, of int) (j syncrun.Job) {
	r.T.Helper()
	r.Clock.Advance(time.Second)
	j = r.request(syncrun.Live, full)
	r.handle(j)
	run := r.record(j)
	if run.State != syncrun.Awaiting {
		r.T.Fatalf("the run is %s, want it to wait: %s", run.State, run.Error)
	}
	if diff := cmp.Diff([]int{removes, of}, []int{run.Removal.Items, run.Removal.Of}); diff != "" {
		r.T.Errorf("removal differs (-want +got):\n%s", diff)
	}
	return j
}

// allow lets the company's policies allow every removal in advance.
func (r *running) allow() {
	r.T.Helper()
	r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{{
		ID: "removals", Mode: policy.Enforce, Text: `permit (principal, action == Action::"sync.remove", resource);`,
	}}})
	r.Clock.Advance(policyengine.Fresh)
}

// confirm does what the API does.
func (r *running) confirm(j syncrun.Job) {
	r.T.Helper()
	rec, at := r.record(j), r.Clock.Now()
	rec.State, rec.Error = syncrun.Running, ""
	rec.Removal.ConfirmedBy, rec.Removal.ConfirmedAt, rec.Removal.Until = "u", &at, nil
	r.Put("a", syncrun.Key(j.Run), syncrun.Entity, rec)
}

// TestSyncer_Weigh removes few items at once, and waits before it removes many or a whole list.
func TestSyncer_Weigh(t *testing.T) {
	t.Parallel()
	m := func(n int) []string { return numbered("m", n) }
	tests := []struct {
		name        string
		had, has    []string
		waits       bool
		removes, of int
	}{
		{"more than half of 20", m(20), m(9), true, 11, 20},
		{"half of 20", m(20), m(10), false, 10, 20},
		{"more than half of 19", m(19), m(1), false, 18, 19},
		{"many of many", m(250), m(100), true, 150, 250},
		{"all of three", m(3), nil, true, 3, 3},
		{"all of one list", append(m(30), "g1"), m(30), true, 1, 31},
		{"memories and goals together", append(m(15), "g1", "g2", "g3", "g4", "g5", "g6"), append(m(7), "g1", "g2", "g3"), true, 11, 21},
		{"new ones take their place", m(12), append(m(2), numbered("n", 20)...), false, 10, 12},
		{"other ones take their place", m(5), numbered("n", 5), false, 5, 5},
		{"others take the place of many", m(20), numbered("n", 20), true, 20, 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, l := setupListing(t, 1000, tt.had...)
			r.sync(syncrun.Live, full)
			l.hold(tt.has...)
			if !tt.waits {
				r.Clock.Advance(time.Second)
				r.sync(syncrun.Live, full)
				r.wantStored(tt.has...)
				return
			}
			j := r.waiting(tt.removes, tt.of)
			both := slices.Concat(tt.had, tt.has)
			slices.Sort(both)
			r.wantStored(slices.Compact(both)...)
			r.confirm(j)
			if run := r.finish(j, syncrun.Succeeded); run.Progress.Deleted != tt.removes {
				t.Errorf("%d items removed, want %d", run.Progress.Deleted, tt.removes)
			}
			r.wantStored(tt.has...)
		})
	}
}

// TestSyncer_Weigh_keeps keeps what the run has fetched while it waits, and holds the provider's place.
func TestSyncer_Weigh_keeps(t *testing.T) {
	t.Parallel()
	r, l := setupListing(t, 1000, numbered("m", 30)...)
	r.sync(syncrun.Live, full)
	l.hold("m0", "new")
	j := r.waiting(29, 30)
	r.wantStored(append(numbered("m", 30), "new")...)
	if got := r.slot().Run; got != j.Run {
		t.Errorf("the slot holds run %q, want the one that waits", got)
	}
	if err := r.record(j).Error; !strings.Contains(err, "29 of 30 items") {
		t.Errorf("the run says %q, want how many", err)
	}
	due := r.handle(j)
	if want := *r.record(j).Removal.Until; !due.Equal(want) {
		t.Errorf("the run is due at %v, want %v", due, want)
	}
}

// TestSyncer_Weigh_ends ends a wait by itself, and when it is cancelled. Neither removes anything, and the next scheduled run is not
// a full one.
func TestSyncer_Weigh_ends(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		r, l := setupListing(t, 1000, numbered("m", 30)...)
		r.sync(syncrun.Live, full)
		l.hold("m0")
		j := r.waiting(29, 30)
		if cancel {
			r.cancel(j)
		} else {
			r.Clock.Advance(syncrun.Await)
		}
		run := r.finish(j, syncrun.Cancelled)
		if got := strings.Contains(run.Error, "no user confirmed"); got == cancel {
			t.Errorf("the run says %q; a wait that ended by itself says so", run.Error)
		}
		r.wantStored(numbered("m", 30)...)
		if got := r.slot().Run; got != "" {
			t.Errorf("the slot holds run %q, want none", got)
		}
		if got := r.Clock.Now().Sub(r.slot().FullAt); got > 0 {
			t.Errorf("the last full run counts as %v ago, want now", got)
		}
	}
}

// TestSyncer_Weigh_policies lets the company's policies allow or forbid a removal in advance.
func TestSyncer_Weigh_policies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		left       int
		says       string
	}{
		{"allowed", `permit (principal == Integration::"paged", action == Action::"sync.remove", resource) when { resource.count * 10 <= resource.total * 10 };`, 1, "allow the removal"},
		{"forbidden", `@reason("never") forbid (principal, action == Action::"sync.remove", resource);`, 30, "never"},
		{"items may not be removed", `forbid (principal, action == Action::"memory.delete", resource);`, 30, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, l := setupListing(t, 1000, numbered("m", 30)...)
			r.sync(syncrun.Live, full)
			l.hold("m0")
			r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{{ID: "mass", Mode: policy.Enforce, Text: tt.text}}})
			r.Clock.Advance(policyengine.Fresh)
			run := r.sync(syncrun.Live, full)
			if got := len(r.stored()); got != tt.left {
				t.Errorf("%d items are stored, want %d", got, tt.left)
			}
			said := ""
			if run.Removal != nil {
				said = run.Removal.Reason
			}
			if !strings.Contains(said, tt.says) {
				t.Errorf("the run says %q of its removal, want %q in it", said, tt.says)
			}
		})
	}
}

// parts lists memories of one kind in several lists, each on a page of its own.
type parts struct {
	*listing
	of map[string][]string // the ids of each list
}

func (p *parts) list(_ context.Context, n int, _ connector.Fetch) (connector.FetchedPage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := slices.Sorted(maps.Keys(p.of))
	page := connector.FetchedPage{List: names[n], Shifting: p.numbered}
	for _, id := range p.of[names[n]] {
		page.Memories = append(page.Memories, memory.Draft{ExternalID: id, Kind: "entry", Title: id})
	}
	if n+1 < len(names) {
		page.Checkpoint = json.RawMessage(strconv.Itoa(n + 1))
	}
	return page, nil
}

// setupParts makes a full run of a list of three items and one of 30, whose items have the same kind.
func setupParts(t *testing.T, shifting bool) (*running, *parts) {
	t.Helper()
	r, l := setupListing(t, 0)
	l.numbered = shifting
	p := &parts{listing: l, of: map[string][]string{"few": {"f0", "f1", "f2"}, "many": numbered("m", 30)}}
	r.provider.answer(p.list)
	r.sync(syncrun.Live, full)
	r.Clock.Advance(time.Second)
	return r, p
}

// TestSyncer_Weigh_lists waits before it removes all items of one of several lists, however few they are. A list that stays empty is not
// asked for again.
func TestSyncer_Weigh_lists(t *testing.T) {
	t.Parallel()
	r, p := setupParts(t, false)
	p.of["few"], p.of["many"] = nil, numbered("m", 28)
	j := r.waiting(5, 33)
	r.cancel(j)
	r.finish(j, syncrun.Cancelled)
	r.wantStored(append(numbered("m", 30), "f0", "f1", "f2")...)
	j = r.waiting(5, 33) // what no user has agreed to is asked for again
	r.confirm(j)
	r.finish(j, syncrun.Succeeded)
	r.wantStored(numbered("m", 28)...)
	p.of["many"] = numbered("m", 27)
	r.Clock.Advance(time.Second)
	r.sync(syncrun.Live, full)
	r.wantStored(numbered("m", 27)...)
}

// TestSyncer_Weigh_lists_gone waits also if a list is no longer there, such as a repository of an organization.
func TestSyncer_Weigh_lists_gone(t *testing.T) {
	t.Parallel()
	r, p := setupParts(t, false)
	delete(p.of, "few")
	r.waiting(3, 33)
}

// TestSyncer_Weigh_lists_shifting asks when the items would be removed: a run whose pages may have shifted removes nothing that only it
// has missed.
func TestSyncer_Weigh_lists_shifting(t *testing.T) {
	t.Parallel()
	r, p := setupParts(t, true)
	p.of["few"] = nil
	r.sync(syncrun.Live, full)
	r.wantStored(append(numbered("m", 30), "f0", "f1", "f2")...)
	r.waiting(3, 33)
}

// TestSyncer_Weigh_lists_configured removes a list that a change of the configuration has left out. A user has asked for that.
func TestSyncer_Weigh_lists_configured(t *testing.T) {
	t.Parallel()
	r, p := setupParts(t, false)
	delete(p.of, "few")
	r.Change("a", "paged", func(i *integration.Integration) { i.Config = json.RawMessage(`{"url":"many"}`) })
	r.sync(syncrun.Live, full)
	r.wantStored(numbered("m", 30)...)
}
