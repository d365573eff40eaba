package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/githubtest"
)

// TestConnector_Fetch_pulls returns after each page, also if it has pull requests alone. So a run of a repository with thousands
// of them gets on.
func TestConnector_Fetch_pulls(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for n := range 450 {
		pull := githubtest.Issue(n+1, "A pull request", monday.Add(time.Duration(n)*time.Minute))
		pull["pull_request"] = map[string]any{}
		f.Put("issues", pull)
	}
	pages := 1
	f.run(true, func(int) {
		pages++
		if all, _ := f.Requests(); len(all) != 1 {
			t.Errorf("page %d took %d requests, want one", pages, len(all))
		}
	})
	if want := 5 + 2; pages != want {
		t.Errorf("%d pages, want %d: of issues, milestones and releases", pages, want)
	}
}

// TestConnector_Fetch_renamed follows the redirects of a renamed repository on the same host, with the query.
func TestConnector_Fetch_renamed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308} {
		f := serve(t)
		f.Put("issues", githubtest.Issue(7, "Printer on fire", monday))
		f.config = []byte(strings.Replace(string(f.config), "octo/app", "octo/old", 1))
		var queries []string
		f.Before(func(w http.ResponseWriter, r *http.Request) bool {
			rest, old := strings.CutPrefix(r.URL.Path, githubtest.Base+"/repos/octo/old")
			if old {
				w.Header().Set("Location", githubtest.Base+"/repositories/1300192"+rest)
				w.WriteHeader(status)
			} else {
				queries = append(queries, r.URL.Query().Get("state"))
			}
			return old
		})
		if diff := cmp.Diff(map[string]bool{"octo/old/issues/7": true}, ids(f.run(true, idle))); diff != "" {
			t.Errorf("%d: issues differ (-want +got):\n%s", status, diff)
		}
		if diff := cmp.Diff([]string{"all", "all", ""}, queries); diff != "" {
			t.Errorf("%d: filters behind the redirects differ (-want +got):\n%s", status, diff)
		}
	}
}

// TestConnector_Fetch_redirectLoop ends with the target of the redirect that it does not follow.
func TestConnector_Fetch_redirectLoop(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/loop")
		w.WriteHeader(http.StatusMovedPermanently)
	})
	_, err := f.page(nil, true)
	if got, want := errtest.Message(err), "/loop, and redirects"; !strings.Contains(got, want) {
		t.Errorf("err = %q, want %q in it", got, want)
	}
	if all, _ := f.Requests(); len(all) != 4 {
		t.Errorf("%d requests, want 4", len(all))
	}
}

// TestConnector_Fetch_cycle ends a list whose links lead back.
func TestConnector_Fetch_cycle(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.Fail(func(w http.ResponseWriter, r *http.Request) {
		page := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
		w.Header().Set("Link", fmt.Sprintf(`<%s?page=%d>; rel="next"`, r.URL.Path, 1+page%3))
		fmt.Fprint(w, "[]")
	})
	var err error
	for page := (connector.FetchedPage{}); err == nil; {
		page, err = f.page(page.Checkpoint, true)
	}
	if !errors.Is(err, connector.ErrEndless) {
		t.Errorf("err = %v, want %v", err, connector.ErrEndless)
	}
	if all, _ := f.Requests(); len(all) > 6 {
		t.Errorf("%d requests, want at most 2 more than 4 pages", len(all))
	}
}

// TestConnector_Fetch_unicode leaves out the items that are not valid Unicode, and says where. Decoding would change their texts.
func TestConnector_Fetch_unicode(t *testing.T) {
	t.Parallel()
	const broken = `"id":7,"number":7,"tag_name":"v1","published_at":"2026-03-01T10:00:00Z","updated_at":"2026-03-01T10:00:00Z",`
	for _, tt := range []struct{ title, body, want string }{
		{`"a \ud83d b"`, `""`, "/title"}, {`"a"`, `"\udc00"`, "/body"}, {"\"\xff\"", `""`, "/title"}, {`"\ud83d\ude00"`, `"\\ud83d"`, ""},
	} {
		f := serve(t)
		f.Fail(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `[{%s"title":%s,"name":%s,"body":%s},{"number":8,"title":"B"}]`, broken, tt.title, tt.title, tt.body)
		})
		refused, memories := []connector.Skipped{}, 1
		if tt.want == "" {
			memories = 2
		} else {
			refused = append(refused, connector.Skipped{Item: "issue 7", Reason: tt.want + notUnicode})
		}
		page, err := f.page(nil, true)
		errtest.Must(t, err)
		if diff := cmp.Diff(refused, append([]connector.Skipped{}, page.Skipped...)); diff != "" {
			t.Errorf("%s: left out (-want +got):\n%s", tt.title, diff)
		}
		if got := len(page.Memories); got != memories {
			t.Errorf("%s: %d memories, want %d", tt.title, got, memories)
		}
		if want := tt.want != ""; page.Incomplete != want {
			t.Errorf("%s: incomplete = %t, want %t", tt.title, page.Incomplete, want)
		}
		for page.Checkpoint != nil { // the milestones and the releases
			if page, err = f.page(page.Checkpoint, true); len(page.Skipped) == 0 && tt.want == "/title" {
				t.Errorf("%s: nothing is left out, want the item", tt.title)
			}
			errtest.Must(t, err)
		}
	}
}

const notUnicode = ` is not valid Unicode: it has bytes that are not UTF-8, or one half of a surrogate pair such as \ud800`

// TestConnector_Fetch_badItems keeps an item with a bad member, and leaves out an item that nothing identifies.
func TestConnector_Fetch_badItems(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.Fail(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "\xEF\xBB\xBF"+`[{"number":1,"title":null},{"number":2,"title":{"x":1},"body":5,"labels":"x","updated_at":"2026-03-01 10:00:00 +0000"},`+
			`{"number":"three","title":"Three"},null,{"number":4,"title":"Four","updated_at":"soon"}]`)
	})
	page, err := f.page(nil, true)
	errtest.Must(t, err)
	got := map[string]string{}
	for _, m := range page.Memories {
		got[m.ExternalID] = m.Title
	}
	want := map[string]string{"octo/app/issues/1": "Issue #1", "octo/app/issues/2": "Issue #2", "octo/app/issues/4": "Four"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("issues differ (-want +got):\n%s", diff)
	}
	changed := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	if diff := cmp.Diff(&changed, page.Memories[1].UpdatedAt); diff != "" {
		t.Errorf("time of the change differs (-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct{ got, want int }{"left out": {len(page.Skipped), 2}, "warnings": {len(page.Warnings), 1}} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", name, tt.got, tt.want)
		}
	}
	if !page.Incomplete {
		t.Error("the page is complete, want it incomplete")
	}
}
