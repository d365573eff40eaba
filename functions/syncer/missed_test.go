package syncer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/github"
	"orgops/shared/provider/httplist"
	"orgops/shared/testkit/githubtest"
)

// wantMissed checks how many items the next full run removes if it misses them too.
func (r *running) wantMissed(want int) {
	r.T.Helper()
	if got := r.slot().Missed.IDs.Len(); got != want {
		r.T.Errorf("the slot lists %d missed items, want %d", got, want)
	}
}

// numberServer serves numbers in pages of two: by offset, by a Link to the next number of a page, or by a cursor that names
// the last number of a page.
type numberServer struct {
	mu      sync.Mutex
	held    []int
	between func(held []int) []int // changes the list when the first page has been answered, once; nil: nothing
}

func (s *numberServer) hold(between func([]int) []int, held ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.between = held, between
}

// ServeHTTP implements http.Handler.
func (s *numberServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const size = 2
	number := func(name string) int { n, _ := strconv.Atoi(r.URL.Query().Get(name)); return n }
	from := number("offset") + size*number("page")
	if after := number("after"); after > 0 {
		from = slices.IndexFunc(append(s.held, after+1), func(n int) bool { return n > after })
	}
	from = min(from, len(s.held))
	until := min(from+size, len(s.held))
	rows, next := []map[string]any{}, ""
	for _, n := range s.held[from:until] {
		rows = append(rows, map[string]any{"id": n, "title": fmt.Sprint("Item ", n)})
	}
	if until < len(s.held) {
		next = strconv.Itoa(s.held[until-1])
		w.Header().Set("Link", fmt.Sprintf(`<?page=%d>; rel="next"`, number("page")+1))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": rows, "next": next})
	if s.between != nil {
		s.held, s.between = s.between(s.held), nil
	}
}

// without returns a change of a list that deletes a number.
func without(gone int) func([]int) []int {
	return func(held []int) []int {
		return slices.DeleteFunc(slices.Clone(held), func(n int) bool { return n == gone })
	}
}

// TestSyncer_Shifting deletes an item of the first page before the second page is fetched. Numbered pages then hide an item from
// the run, which stays. What is gone is removed by the second full run that misses it. A cursor hides nothing, and neither
// does a list of one page: the first run that misses an item removes it.
func TestSyncer_Shifting(t *testing.T) {
	t.Parallel()
	all := []int{1, 2, 3, 4, 5, 6}
	tests := []struct {
		name, paging string
		held         []int // before 2 is deleted
		hides        bool  // the deletion hides 3
		runs         int   // full runs after the deletion until 2 is removed
	}{
		{"offset", `"paging":"offset","parameter":"offset"`, all, true, 2},
		{"offset, a page and an empty one", `"paging":"offset","parameter":"offset"`, []int{1, 2, 3}, true, 2},
		{"link", `"paging":"link"`, all, true, 2},
		{"link, one page", `"paging":"link"`, []int{1, 2}, false, 1},
		{"cursor", `"paging":"cursor","cursorPath":"/next","parameter":"after"`, all, false, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			numbers := &numberServer{}
			server := httptest.NewServer(numbers)
			t.Cleanup(server.Close)
			r := setup(t)
			r.connect(httplist.New(r.Client, r.Clock.Now), fmt.Sprintf(
				`{"url":%q,"itemsPath":"/items","idPath":"/id","titlePath":"/title","target":"memory",%s}`, server.URL, tt.paging), nil)
			numbers.hold(nil, tt.held...)
			r.sync(syncrun.Live, full)
			r.Clock.Advance(time.Minute)
			numbers.hold(without(2), tt.held...)
			if hides := r.sync(syncrun.Live, full).Progress.Fetched < len(tt.held); hides != tt.hides {
				t.Fatalf("the deletion hides an item from the run: %t, want %t", hides, tt.hides)
			}
			for range tt.runs {
				r.wantTitles(tt.held...)
				r.Clock.Advance(time.Minute)
				if got := r.sync(syncrun.Live, full).Progress.Created; got > 0 {
					t.Errorf("%d new items, want none: all were stored", got)
				}
			}
			r.wantTitles(without(2)(tt.held)...)
		})
	}
}

// interrupted is the connector github, and calls before when a page after the first is asked for.
type interrupted struct {
	*github.Connector
	before func()
}

func (c *interrupted) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	if len(f.Checkpoint) > 0 {
		c.before()
	}
	return c.Connector.Fetch(ctx, f)
}

// TestSyncer_ShiftingGitHub deletes milestones, or issues of many that changed in the same second, between two pages of GitHub's.
func TestSyncer_ShiftingGitHub(t *testing.T) {
	t.Parallel()
	const items = 150
	for list, item := range map[string]func(n int) githubtest.Item{
		"milestones": func(n int) githubtest.Item {
			return githubtest.Item{"number": n, "title": fmt.Sprint("Milestone ", n), "state": "open"}
		},
		"issues": func(n int) githubtest.Item {
			return githubtest.Issue(n, "Issue", time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC))
		},
	} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			server := githubtest.New(t, r.Clock.Now)
			c := &interrupted{github.New(r.Client, r.Clock.Now), func() {}}
			config := fmt.Sprintf(`{"repository":%q,"baseUrl":%q}`, githubtest.Repository, server.URL)
			r.connect(c, config, map[string]string{"token": githubtest.Token})
			for n := range items {
				server.Put(list, item(n+1))
			}
			r.sync(syncrun.Live, full)
			r.Clock.Advance(time.Minute)
			deleted, begun := 0, list == "issues" // a page without issues comes before the milestones
			c.before = func() {
				if begun {
					deleted++
					server.Delete(list, item(deleted))
				}
				begun = true
			}
			r.sync(syncrun.Live, full)
			if got := len(r.stored()); got != items {
				t.Errorf("%d items are stored, want all %d: none was gone when the run began", got, items)
			}
			c.before = func() {}
			for _, want := range []int{items, items - deleted} {
				r.Clock.Advance(time.Minute)
				run := r.sync(syncrun.Live, full)
				if run.Progress.Created > 0 {
					t.Errorf("%d new items, want none: all were stored", run.Progress.Created)
				}
				if got := len(r.stored()); got != want {
					t.Errorf("%d items are stored, want %d", got, want)
				}
			}
		})
	}
}

// setupMissed returns a source with numbered pages that holds 1 to 4, and a full run of it that has missed 4.
func setupMissed(t *testing.T) (*running, *listing) {
	t.Helper()
	r, l := setupListing(t, 2, "1", "2", "3", "4")
	l.numbered = true
	r.sync(syncrun.Live, full)
	r.Clock.Advance(time.Second)
	l.hold("1", "2", "3")
	r.sync(syncrun.Live, full)
	r.wantStored("1", "2", "3", "4")
	r.wantMissed(1)
	r.Clock.Advance(time.Second)
	return r, l
}

// TestSyncer_Missed removes an item that two full runs in a row have missed. An item that was seen or has changed in between must
// be missed twice again, and so must all items after a change of what is fetched.
func TestSyncer_Missed(t *testing.T) {
	t.Parallel()
	edit := func(change func(*running, *integration.Integration)) func(*running, *listing) {
		return func(r *running, _ *listing) {
			r.Change("a", "paged", func(i *integration.Integration) { change(r, i) })
		}
	}
	shown := func(l *listing) { l.hold("1", "4", "2", "3") }
	incomplete := func(r *running, l *listing) {
		r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
			page, err := l.list(ctx, n, f)
			page.Incomplete = true
			return page, err
		})
		r.sync(syncrun.Live, full)
	}
	tests := []struct {
		name    string
		between func(*running, *listing)
		spared  bool
	}{
		{"nothing", func(*running, *listing) {}, false},
		{"a run of what has changed", func(r *running, _ *listing) { r.sync(syncrun.Live) }, false},
		{"an incomplete run", incomplete, false},
		{"a change of the schedule", edit(func(_ *running, i *integration.Integration) { i.Config = json.RawMessage(`{"maxItems":9,"url":"u"}`) }), false},
		{"seen by a run of what has changed", func(r *running, l *listing) { shown(l); r.sync(syncrun.Live) }, true},
		{"seen by a full run", func(r *running, l *listing) { shown(l); r.sync(syncrun.Live, full) }, true},
		{"seen by an incomplete run", func(r *running, l *listing) { shown(l); incomplete(r, l) }, true},
		{"seen by a rehearsal", func(r *running, l *listing) { shown(l); r.sync(syncrun.Sandbox) }, true},
		{"seen by a run that fails", func(r *running, l *listing) {
			shown(l)
			r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
				if n > 0 {
					return connector.FetchedPage{}, connector.ErrRefused
				}
				return l.list(ctx, n, f)
			})
			r.finish(r.request(syncrun.Live, full), syncrun.Failed)
		}, true},
		{"changed", func(r *running, _ *listing) {
			m := memory.Memory{}
			key := memory.Key(memory.IDOf("paged", "", "4"))
			r.Get("a", key, &m)
			m.Title, m.UpdatedAt = "Changed by a webhook", r.Clock.Now()
			r.Put("a", key, memory.Entity, m)
			r.Clock.Advance(time.Second)
		}, true},
		{"another configuration", edit(func(_ *running, i *integration.Integration) { i.Config = json.RawMessage(`{"url":"other"}`) }), true},
		{"narrowed permissions", edit(func(_ *running, i *integration.Integration) {
			i.Narrowed, i.Permissions = true, []integration.Port{integration.SyncPull, integration.MemoryUpsert}
		}), true},
		{"configured again", edit(func(_ *running, i *integration.Integration) { i.CreatedAt = i.CreatedAt.Add(time.Minute) }), true},
		{"new credentials", edit(func(r *running, i *integration.Integration) {
			i.Credentials = &integration.CredentialNames{Names: []string{"token"}, UpdatedAt: r.Clock.Now()}
			r.Clock.Advance(time.Second)
		}), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, l := setupMissed(t)
			tt.between(r, l)
			r.provider.answer(l.list)
			l.hold("1", "2", "3")
			if tt.spared {
				r.sync(syncrun.Live, full)
				r.wantStored("1", "2", "3", "4")
				r.wantMissed(1)
				r.Clock.Advance(time.Second)
			}
			r.wantProgress(r.sync(syncrun.Live, full), syncrun.Progress{Pages: 2, Fetched: 3, Unchanged: 3, Deleted: 1})
			r.wantStored("1", "2", "3")
			r.wantMissed(0)
		})
	}
}

// TestSyncer_Missed_OnePage removes at once what is missing from a list with one page, and lists nothing more as missed.
func TestSyncer_Missed_OnePage(t *testing.T) {
	t.Parallel()
	r, l := setupMissed(t)
	l.hold("1")
	r.wantProgress(r.sync(syncrun.Live, full), syncrun.Progress{Pages: 1, Fetched: 1, Unchanged: 1, Deleted: 3})
	r.wantMissed(0)
}

// TestSyncer_Missed_Credentials stores other credentials while the pages of a run are read. The run may have missed what they
// show, so its list does not count.
func TestSyncer_Missed_Credentials(t *testing.T) {
	t.Parallel()
	r, l := setupMissed(t)
	l.hold("1", "2", "4")
	var once sync.Once
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if n == 1 {
			once.Do(func() {
				r.Clock.Advance(time.Second)
				r.Change("a", "paged", func(i *integration.Integration) {
					i.Credentials = &integration.CredentialNames{Names: []string{"token"}, UpdatedAt: r.Clock.Now()}
				})
				r.Clock.Advance(time.Second)
			})
		}
		return l.list(ctx, n, f)
	})
	r.sync(syncrun.Live, full)
	r.provider.answer(l.list)
	for _, want := range []int{0, 1} {
		r.wantMissed(1)
		r.Clock.Advance(time.Second)
		if got := r.sync(syncrun.Live, full).Progress.Deleted; got != want {
			t.Errorf("%d items removed, want %d", got, want)
		}
	}
	r.wantStored("1", "2", "4")
}

// TestSyncer_Missed_Many deletes more items than a list of missed ones holds. Each run removes those that the run before listed, so
// no deletion waits for ever.
func TestSyncer_Missed_Many(t *testing.T) {
	t.Parallel()
	const more = 205
	r, l := setupListing(t, 500, append(numbered("m", syncrun.MaxMissed+more), numbered("n", 2)...)...)
	l.numbered = true
	r.allow()
	r.sync(syncrun.Live, full)
	l.hold("n0", "n1")
	l.size = 1
	for _, want := range []struct{ deleted, missed int }{{0, syncrun.MaxMissed}, {syncrun.MaxMissed, more}, {more, 0}} {
		r.Clock.Advance(time.Second)
		if got := r.sync(syncrun.Live, full).Progress.Deleted; got != want.deleted {
			t.Errorf("%d items removed, want %d", got, want.deleted)
		}
		r.wantMissed(want.missed)
	}
	r.wantStored("n0", "n1")
}

// TestSyncer_Missed_Denied records at once that the policies deny a removal. The item takes no place in the list of missed ones.
func TestSyncer_Missed_Denied(t *testing.T) {
	t.Parallel()
	r, l := setupListing(t, 1, "1", "2", "3")
	l.numbered = true
	r.sync(syncrun.Live, full)
	r.Clock.Advance(time.Second)
	l.hold("1", "2")
	r.Change("a", "paged", func(i *integration.Integration) { i.Permissions = []integration.Port{integration.SyncPull} })
	for range 2 {
		r.sync(syncrun.Live, full)
		r.wantMissed(0)
		r.Clock.Advance(time.Second)
	}
	r.wantStored("1", "2", "3")
	verdicts := map[policy.Verdict]int{}
	for _, d := range r.decisions() {
		if d.Action == "memory.delete" {
			verdicts[d.Verdict]++
		}
	}
	if diff := cmp.Diff(map[policy.Verdict]int{policy.Denied: 2}, verdicts); diff != "" {
		t.Errorf("verdicts on deletions differ (-want +got):\n%s", diff)
	}
}

// TestSyncer_Missed_Continued hands a run over to another worker between its pages, so that only its record says that its pages
// shift.
func TestSyncer_Missed_Continued(t *testing.T) {
	t.Parallel()
	r, l := setupListing(t, 1, "1", "2", "3", "4")
	l.numbered = true
	r.sync(syncrun.Live, full)
	r.Clock.Advance(time.Second)
	l.hold("1", "2", "3")
	for _, want := range []int{0, 1} {
		j := r.request(syncrun.Live, full)
		r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
			r.Clock.Advance(time.Hour) // the slice is used up after each page
			page, err := l.list(ctx, n, f)
			page.Shifting = n == 1 // the last page does not say so
			return page, err
		})
		if got := r.finishLate(j, syncrun.Succeeded).Progress.Deleted; got != want {
			t.Errorf("%d items removed, want %d", got, want)
		}
	}
	r.wantStored("1", "2", "3")
}
