package shelf_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/shelf"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/lineartest"
	"orgops/shared/webhook/outbound"
)

var (
	_ connector.Authenticated = (*shelf.Both)(nil)
	_ connector.Lister        = (*shelf.Both)(nil)
	_ connector.Placed        = (*shelf.Both)(nil)
)

var monday = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// linearRun fetches from a fake Linear.
type linearRun struct {
	*lineartest.Server
	t      *testing.T
	now    time.Time
	config string
	key    string
	state  json.RawMessage
}

func serveLinear(t *testing.T) *linearRun {
	t.Helper()
	return &linearRun{Server: lineartest.New(t), t: t, now: monday, config: `{}`, key: lineartest.Key}
}

func (f *linearRun) page(ctx context.Context, checkpoint json.RawMessage, full bool) (connector.FetchedPage, error) {
	client := outbound.New(outbound.Options{Transport: leading{f.URL, map[string]bool{}}})
	return linear(client, func() time.Time { return f.now }).Fetch(ctx, connector.Fetch{
		Config: json.RawMessage(f.config), Credentials: map[string]string{"apiKey": f.key}, Checkpoint: checkpoint, State: f.state, Full: full, Mapper: new(mapping.Cache),
	})
}

// run fetches every page of a run, calls between after each, and keeps the state.
func (f *linearRun) run(full bool, between func(page int)) (all connector.FetchedPage) {
	f.t.Helper()
	for n := 1; ; n++ {
		page, err := f.page(f.t.Context(), all.Checkpoint, full)
		errtest.Must(f.t, err)
		all.Memories, all.Goals, all.Gone = append(all.Memories, page.Memories...), append(all.Goals, page.Goals...), append(all.Gone, page.Gone...)
		all.Incomplete = all.Incomplete || page.Incomplete
		if all.Checkpoint = page.Checkpoint; page.Checkpoint == nil {
			f.state = page.State
			return all
		}
		between(n)
	}
}

func idle(int) {}

func titles(all connector.FetchedPage) map[string]bool {
	found := map[string]bool{}
	for _, m := range all.Memories {
		found[m.Title] = true
	}
	return found
}

// project makes a project of the team ENG.
func project(id string, changed time.Time) lineartest.Item {
	return lineartest.Item{
		"id": id, "name": "Beta", "description": "All of it", "url": "https://linear.app/acme/project/" + id, "progress": 0.25,
		"startDate": "2026-01-01", "targetDate": "2026-06-01", "completedAt": nil, "canceledAt": nil, "updatedAt": changed.Format(time.RFC3339),
		"trashed": nil, "team": "ENG",
	}
}

func TestLinear_Fetch(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	f.Put("issues", lineartest.Issue(1, "Printer on fire", monday))
	f.Put("issues", lineartest.Issue(2, " ", monday))
	f.Put("projects", project("p", monday))
	done := project("q", monday)
	done["canceledAt"], done["startDate"], done["targetDate"], done["progress"] = monday.Format(time.RFC3339), nil, nil, 1
	f.Put("projects", done)
	began, due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	changed := monday
	want := connector.FetchedPage{
		Memories: []memory.Draft{{
			ExternalID: "00000000-0000-4000-8000-000000000001", Kind: "issue", Title: "Printer on fire", Body: "The description of Printer on fire",
			URL: "https://linear.app/acme/issue/ENG-1", UpdatedAt: &changed,
		}, {
			ExternalID: "00000000-0000-4000-8000-000000000002", Kind: "issue", Title: "ENG-2", Body: "The description of  ",
			URL: "https://linear.app/acme/issue/ENG-2", UpdatedAt: &changed,
		}},
		Goals: []goal.Draft{{
			ExternalID: "p", Title: "Beta", Target: "All of it", URL: "https://linear.app/acme/project/p", Progress: 0.25,
			StartedAt: &began, DueAt: &due, State: goal.Open, UpdatedAt: &changed,
		}, {
			ExternalID: "q", Title: "Beta", Target: "All of it", URL: "https://linear.app/acme/project/q", Progress: 1, State: goal.Closed, UpdatedAt: &changed,
		}},
	}
	if diff := cmp.Diff(want, f.run(false, idle)); diff != "" {
		t.Errorf("fetched differs (-want +got):\n%s", diff)
	}
}

// A later run lists what has changed since the run before began, and a full run lists everything.
func TestLinear_Fetch_since(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	f.Put("issues", lineartest.Issue(1, "Old", monday.AddDate(0, 0, -1)))
	f.run(false, idle)
	f.Asked()
	f.Put("issues", lineartest.Issue(2, "New", monday.Add(time.Minute)))
	f.now = monday.Add(time.Hour)
	if diff := cmp.Diff(map[string]bool{"New": true}, titles(f.run(false, idle))); diff != "" {
		t.Errorf("an incremental run differs (-want +got):\n%s", diff)
	}
	since := "2026-03-02T07:55:00Z"
	if diff := cmp.Diff([]lineartest.Query{{List: "issues", Since: since}, {List: "projects", Since: since}}, f.Asked()); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"Old": true, "New": true}, titles(f.run(true, idle))); diff != "" {
		t.Errorf("a full run differs (-want +got):\n%s", diff)
	}
}

// While a full run reads page after page, issues change, vanish and appear. It lists every issue that is there throughout.
func TestLinear_Fetch_moving(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	for n := range 180 {
		f.Put("issues", lineartest.Issue(n+1, fmt.Sprint("Issue ", n+1), monday))
	}
	got := titles(f.run(true, func(page int) {
		f.Delete("issues", fmt.Sprintf("00000000-0000-4000-8000-%012d", 25*page)) // the last of the page, which its cursor names
		f.Put("issues", lineartest.Issue(180-page, fmt.Sprint("Issue ", 180-page), monday.Add(time.Hour)))
		f.Put("issues", lineartest.Issue(1000+page, fmt.Sprint("Later ", page), monday))
	}))
	for n := range 180 {
		if title := fmt.Sprint("Issue ", n+1); !got[title] {
			t.Errorf("%s was not fetched, want every issue", title)
		}
	}
}

// TestLinear_Fetch_long reads issues with long descriptions, of which 50 would be more than a page may have.
func TestLinear_Fetch_long(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	for n := range 29 {
		issue := lineartest.Issue(n+1, fmt.Sprint("Issue ", n+1), monday)
		issue["description"] = strings.Repeat("x", 300_000)
		f.Put("issues", issue)
	}
	if got := len(f.run(true, idle).Memories); got != 29 {
		t.Errorf("%d issues with long descriptions, want all 29", got)
	}
}

// Archived issues stay, issues in the trash do not, and a team's run asks for that team.
func TestLinear_Fetch_hidden(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	archived, trashed, other := lineartest.Issue(1, "Archived", monday), lineartest.Issue(2, "Trashed", monday), lineartest.Issue(3, "Other", monday)
	archived["archivedAt"] = "2026-03-01T00:00:00.000Z"
	trashed["archivedAt"], trashed["trashed"] = "2026-03-01T00:00:00.000Z", true
	other["team"] = "OPS"
	for _, i := range []lineartest.Item{archived, trashed, other} {
		f.Put("issues", i)
	}
	thrown := project("p", monday)
	thrown["trashed"] = true
	f.Put("projects", thrown)
	all := f.run(true, idle)
	if diff := cmp.Diff(map[string]bool{"Archived": true, "Other": true}, titles(all)); diff != "" {
		t.Errorf("fetched differs (-want +got):\n%s", diff)
	}
	gone := []string{}
	for _, a := range all.Gone {
		if a.Memory != nil {
			gone = append(gone, a.Memory.ExternalID)
		} else {
			gone = append(gone, a.Goal.ExternalID)
		}
	}
	if diff := cmp.Diff([]string{fmt.Sprint(trashed["id"]), fmt.Sprint(thrown["id"])}, gone); diff != "" {
		t.Errorf("items that are gone differ (-want +got):\n%s", diff)
	}
	if len(all.Goals) > 0 {
		t.Errorf("fetched %+v, want no project of the trash", all.Goals)
	}
	f.config = `{"team":"OPS"}`
	if diff := cmp.Diff(map[string]bool{"Other": true}, titles(f.run(true, idle))); diff != "" {
		t.Errorf("a team's run differs (-want +got):\n%s", diff)
	}
}

// TestLinear_Fetch_renamedTeam follows a team by its id, when its key changes and another team gets the key.
func TestLinear_Fetch_renamedTeam(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	f.config = `{"team":"ENG"}`
	f.Put("issues", lineartest.Issue(1, "First", monday.Add(-time.Hour)))
	f.Put("projects", project("p", monday))
	f.run(true, idle)
	f.Rename("ENG", "CORE")
	f.now = monday.Add(time.Hour)
	later := lineartest.Issue(2, "Second", f.now)
	later["team"] = "CORE"
	f.Put("issues", later)
	taken := lineartest.Issue(3, "Another team's", f.now)
	f.Put("issues", taken) // of a team that has the key ENG now
	if diff := cmp.Diff(map[string]bool{"Second": true}, titles(f.run(false, idle))); diff != "" {
		t.Errorf("changes after the rename differ (-want +got):\n%s", diff)
	}
	all := f.run(true, idle)
	if diff := cmp.Diff(map[string]bool{"First": true, "Second": true}, titles(all)); diff != "" {
		t.Errorf("a full run after the rename differs (-want +got):\n%s", diff)
	}
	if len(all.Goals) != 1 {
		t.Errorf("%d goals after the rename, want 1", len(all.Goals))
	}
	f.config = `{"team":"CORE"}`
	if diff := cmp.Diff(map[string]bool{"First": true, "Second": true}, titles(f.run(true, idle))); diff != "" {
		t.Errorf("a run with the new key differs (-want +got):\n%s", diff)
	}
}

// TestLinear_Fetch_former begins a run again that the connector before the manifest has begun, and lists everything after that connector's last
// run. So nothing is missed that a full run would remove. It learns the team's id again.
func TestLinear_Fetch_former(t *testing.T) {
	t.Parallel()
	const checkpoint = `{"list":"projects","after":"2","since":"2026-03-02T07:00:00Z","began":"2026-03-02T08:00:00Z","team":"team-ENG","trail":{}}`
	for _, full := range []bool{true, false} {
		f := serveLinear(t)
		f.config, f.state = `{"team":"ENG"}`, json.RawMessage(`{"since":"2026-03-02T07:55:00Z","team":"team-ENG","key":"ENG"}`)
		for n := range 60 {
			f.Put("issues", lineartest.Issue(n+1, fmt.Sprint("Issue ", n+1), monday.AddDate(0, 0, -1)))
		}
		f.Put("projects", project("p", monday.AddDate(0, 0, -1)))
		page, err := f.page(t.Context(), json.RawMessage(checkpoint), full)
		errtest.Must(t, err)
		if diff := cmp.Diff([]lineartest.Query{{List: "issues", Team: "team-ENG"}}, f.Asked()); diff != "" {
			t.Errorf("full = %t: the request of a former checkpoint differs (-want +got):\n%s", full, diff)
		}
		if got := len(page.Memories); got != 25 {
			t.Errorf("full = %t: %d memories behind a former checkpoint, want the first page", full, got)
		}
		all := f.run(full, idle)
		if got := len(all.Memories) + len(all.Goals); got != 61 {
			t.Errorf("full = %t: %d items after a former run, want all 61", full, got)
		}
		if len(all.Gone) > 0 {
			t.Errorf("full = %t: %d items are gone, want none", full, len(all.Gone))
		}
	}
}

// An item without an id would be taken for a removed one, so the run must say that it is incomplete.
func TestLinear_Fetch_incomplete(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	f.Put("issues", lineartest.Item{"title": "No id"})
	if !f.run(true, idle).Incomplete {
		t.Error("the run is complete, want it incomplete")
	}
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; n < len(headers); n += 2 {
			w.Header().Set(headers[n], headers[n+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestLinear_Fetch_refusals(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return fmt.Sprint(monday.Add(d).UnixMilli()) }
	code := func(code string) string { return fmt.Sprintf(`{"errors":[{"extensions":{"code":%q}}]}`, code) }
	limited := code("RATELIMITED")
	tests := []struct {
		name   string
		answer http.HandlerFunc
		wait   time.Duration // 0: not throttled
		final  bool
		says   string
	}{
		{"request limit", answer(400, limited, "X-RateLimit-Requests-Remaining", "0", "X-RateLimit-Requests-Reset", at(20*time.Minute)), 20 * time.Minute, false, ""},
		{"complexity limit", answer(400, limited, "X-RateLimit-Requests-Remaining", "9", "X-RateLimit-Complexity-Remaining", "0",
			"X-RateLimit-Complexity-Reset", at(time.Hour)), time.Hour, false, ""},
		{"limit, no time", answer(400, limited), time.Minute, false, ""},
		{"limit, a past time", answer(400, limited, "X-RateLimit-Requests-Remaining", "0", "X-RateLimit-Requests-Reset", at(-time.Hour)), time.Minute, false, ""},
		{"limit, an absurd time", answer(400, limited, "X-RateLimit-Requests-Remaining", "0", "X-RateLimit-Requests-Reset", at(9000*time.Hour)), 24 * time.Hour, false, ""},
		{"down, with a time", answer(502, `<html>`, "Retry-After", "90"), 90 * time.Second, false, ""},
		{"too many, with a time", answer(429, `<html>`, "Retry-After", "90"), 90 * time.Second, false, ""},
		{"a wrong key", answer(401, code("AUTHENTICATION_ERROR")), 0, true, "refuses the request: store a valid key"},
		{"a wrong key, in a 400", answer(400, code("AUTHENTICATION_ERROR")), 0, true, "refuses the request: store a valid key"},
		{"a key that may not read", answer(200, code("FORBIDDEN")), 0, true, "refuses the request: store a valid key"},
		{"another error", answer(200, `{"data":null,`+code("INTERNAL_SERVER_ERROR")[1:]), 0, false, "could not answer the query"},
		{"down", answer(502, `<html>`), 0, false, "answers 502 Bad Gateway"},
		{"moved", answer(301, "", "Location", "https://attacker.example/"), 0, false, "answers 301"},
		{"truncated", answer(200, `{"data":{"issues":{"nodes":[{"id":"1","ti`), 0, false, "cut off"},
		{"another document", answer(200, `{"hello":1}`), 0, false, "no list at /data/issues/nodes"},
		{"another type", answer(200, `{"data":{"issues":{"nodes":"x","pageInfo":{"hasNextPage":false}}}}`), 0, false, "no list at /data/issues/nodes"},
		{"errors in another form", answer(200, `{"errors":"x","data":{"issues":{"nodes":[],"pageInfo":{"hasNextPage":false}}}}`), 0, false, "could not answer"},
		{"no word of a next page", answer(200, `{"data":{"issues":{"nodes":[],"pageInfo":{}}}}`), 0, false, "does not say at /data/issues/pageInfo/hasNextPage"},
		{"a web page", answer(200, `<title>Sign in</title>`, "Content-Type", "text/html"), 0, false, `text/html, which begins "Sign in"`},
		{"null", answer(200, `null`), 0, false, "no list at /data/issues/nodes"},
		{"no content", answer(204, ``), 0, false, "answers 204"},
		{"a part", answer(206, `{}`), 0, false, "a part of the list"},
		{"a 304 that was not asked for", answer(304, ``), 0, false, "did not ask"},
		{"no list", answer(200, `{"data":{}}`), 0, false, "no list at /data/issues/nodes"},
		{"a list that is null", answer(200, `{"data":{"issues":null}}`), 0, false, "no list at /data/issues/nodes"},
		{"the other list", answer(200, `{"data":{"projects":{"nodes":[],"pageInfo":{"hasNextPage":false}}}}`), 0, false, "no list at /data/issues/nodes"},
		{"no nodes", answer(200, `{"data":{"issues":{"pageInfo":{"hasNextPage":false}}}}`), 0, false, "no list at /data/issues/nodes"},
		{"no page info", answer(200, `{"data":{"issues":{"nodes":[]}}}`), 0, false, "does not say at /data/issues/pageInfo/hasNextPage"},
		{"no cursor", answer(200, `{"data":{"issues":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":null}}}}`), 0, false, "not where it begins"},
		{"half of a character in the cursor", answer(200, `{"data":{"issues":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"a\ud800"}}}}`), 0, false, "not valid Unicode"},
		{"bytes in the cursor that are not UTF-8", answer(200, "{\"data\":{\"issues\":{\"nodes\":[],\"pageInfo\":{\"hasNextPage\":true,\"endCursor\":\"\xff\"}}}}"), 0, false, "not valid Unicode"},
		{"a long cursor", answer(200, `{"data":{"issues":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"`+strings.Repeat("x", 2049)+`"}}}}`), 0, false, "longer than 2,048 bytes"},
		{"too large", answer(200, `{"data":"`+strings.Repeat("x", 8<<20)), 0, false, "larger than 8 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serveLinear(t)
			f.Fail(tt.answer)
			_, err := f.page(t.Context(), nil, false)
			var throttled *connector.ThrottledError
			if errors.As(err, &throttled) {
				if got := throttled.Until.Sub(monday); got != tt.wait {
					t.Errorf("throttled for %v, want %v", got, tt.wait)
				}
				return
			}
			if tt.wait > 0 {
				t.Errorf("err = %v, want to be throttled for %v", err, tt.wait)
			}
			if got := errors.Is(err, connector.ErrRefused); got != tt.final {
				t.Errorf("%v: refused = %t, want %t", err, got, tt.final)
			}
			var public *fault.Error
			if !errors.As(err, &public) {
				t.Fatalf("err = %v, want a fault", err)
			}
			if !strings.Contains(public.Detail, tt.says) {
				t.Errorf("detail %q, want one with %q", public.Detail, tt.says)
			}
			if strings.Contains(err.Error(), lineartest.Key) {
				t.Errorf("error %q names the key, want it kept out", err)
			}
		})
	}
}

// TestLinear_Fetch_cycle ends a list whose cursors lead back. That is not the end of the list: a full run would remove the rest.
func TestLinear_Fetch_cycle(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 2, 5} {
		f := serveLinear(t)
		asked := 0
		f.Fail(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"data":{"issues":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"c%d"}}}}`, asked%length)
			asked++
		})
		var err error
		for page := (connector.FetchedPage{}); err == nil; {
			page, err = f.page(t.Context(), page.Checkpoint, true)
		}
		if !errors.Is(err, connector.ErrEndless) {
			t.Errorf("cycle of %d: err = %v, want %v", length, err, connector.ErrEndless)
		}
		if most := length + 2; asked > most {
			t.Errorf("cycle of %d: %d requests, want at most %d", length, asked, most)
		}
	}
}

// TestLinear_Fetch_badItems keeps items with a bad member.
func TestLinear_Fetch_badItems(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	f.Fail(answer(200, "\xEF\xBB\xBF"+`{"data":{"issues":{"nodes":[{"id":"a","title":null},{"id":"b","identifier":"ENG-1","title":5,"updatedAt":"2026-03-01 10:00:00 +0000"},`+
		`{"id":7,"title":"No id"},null,{"id":"c","title":"C","updatedAt":"soon"}],"pageInfo":{"hasNextPage":false}}}}`))
	page, err := f.page(t.Context(), nil, true)
	errtest.Must(t, err)
	if diff := cmp.Diff(map[string]bool{"a": true, "5": true, "C": true}, titles(page)); diff != "" {
		t.Errorf("titles differ (-want +got):\n%s", diff)
	}
	changed := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	if diff := cmp.Diff(&changed, page.Memories[1].UpdatedAt); diff != "" {
		t.Errorf("time of the change differs (-want +got):\n%s", diff)
	}
	if got := len(page.Skipped); got != 2 {
		t.Errorf("left out %v, want two", page.Skipped)
	}
	if got := len(page.Warnings); got != 1 {
		t.Errorf("warnings %q, want one", page.Warnings)
	}
}

// TestLinear_Fetch_unicode leaves out the items that are not valid Unicode, and says where. Decoding would change their texts.
func TestLinear_Fetch_unicode(t *testing.T) {
	t.Parallel()
	const notUnicode = ` is not valid Unicode: it has bytes that are not UTF-8, or one half of a surrogate pair such as \ud800`
	f := serveLinear(t)
	f.Fail(func(w http.ResponseWriter, r *http.Request) {
		list := "issues"
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "projects(") {
			list = "projects"
		}
		fmt.Fprintf(w, `{"data":{%q:{"nodes":[{"id":"a","title":"\ud83d","name":"\ud83d"},{"id":"b","title":"B","name":"B","description":"`+"\xff"+`"},`+
			`{"id":"c","title":"C","name":"C"}],"pageInfo":{"hasNextPage":false}}}}`, list)
	})
	var checkpoint json.RawMessage
	for range 2 { // the issues and the projects
		page, err := f.page(t.Context(), checkpoint, true)
		errtest.Must(t, err)
		want := []connector.Skipped{{Item: "object 1 of the page", Reason: "/title" + notUnicode}, {Item: "object 2 of the page", Reason: "/description" + notUnicode}}
		if diff := cmp.Diff(want, page.Skipped); diff != "" {
			t.Errorf("left out (-want +got):\n%s", diff)
		}
		if got := len(page.Memories) + len(page.Goals); got != 1 {
			t.Errorf("%d items, want 1", got)
		}
		if !page.Incomplete {
			t.Error("the page is complete, want it incomplete")
		}
		checkpoint = page.Checkpoint
	}
}

// A wrong key is refused, as the certification needs it.
func TestLinear_Fetch_wrongKey(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	f.key = "lin_api_wrong"
	if _, err := f.page(t.Context(), nil, true); !errors.Is(err, connector.ErrRefused) {
		t.Errorf("err = %v, want %v", err, connector.ErrRefused)
	}
}

// A server that does not answer ends with the caller's time.
func TestLinear_Fetch_slow(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	reached, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	f.Fail(func(http.ResponseWriter, *http.Request) {
		close(reached)
		<-release
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	_, err := f.page(ctx, nil, true)
	if got, want := errtest.Message(err), "Linear cannot be read"; !strings.Contains(got, want) {
		t.Errorf("err = %q, want %q in it", got, want)
	}
}

// The last request that a limit allows gets its page, and the next page is asked for after the limit's renewal.
func TestLinear_Fetch_lastRequest(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	f.Put("issues", lineartest.Issue(1, "One", monday))
	renewed := monday.Add(40 * time.Minute)
	f.Limit(1, renewed)
	page, err := f.page(t.Context(), nil, false)
	errtest.Must(t, err)
	if len(page.Memories) != 1 {
		t.Errorf("%d memories, want 1", len(page.Memories))
	}
	if !page.NotBefore.Equal(renewed) {
		t.Errorf("not before %v, want %v", page.NotBefore, renewed)
	}
	_, err = f.page(t.Context(), page.Checkpoint, false)
	var throttled *connector.ThrottledError
	if !errors.As(err, &throttled) {
		t.Fatalf("err = %v, want to be throttled", err)
	}
	if !throttled.Until.Equal(renewed) {
		t.Errorf("throttled until %v, want %v", throttled.Until, renewed)
	}
}

// An item makes the same draft, whether it comes by webhook or by sync. So neither changes what the other stored.
func TestLinear_Fetch_sameAsWebhook(t *testing.T) {
	t.Parallel()
	f := serveLinear(t)
	blank, done := lineartest.Issue(2, " ", monday), project("q", monday)
	done["completedAt"], done["startDate"], done["name"] = monday.Format(time.RFC3339), nil, strings.Repeat("é", 600)
	f.Put("issues", lineartest.Issue(1, "One", monday))
	f.Put("issues", blank)
	f.Put("projects", project("p", monday))
	f.Put("projects", done)
	var want connector.FetchedPage
	for _, thing := range []struct {
		kind string
		item lineartest.Item
	}{{"Issue", lineartest.Issue(1, "One", monday)}, {"Issue", blank}, {"Project", project("p", monday)}, {"Project", done}} {
		body, err := json.Marshal(map[string]any{"action": "update", "type": thing.kind, "data": thing.item, "url": thing.item["url"]})
		errtest.Must(t, err)
		mapped, err := actions(body)
		errtest.Must(t, err)
		for _, a := range mapped {
			switch {
			case a.Memory != nil:
				want.Memories = append(want.Memories, *a.Memory)
			case a.Goal != nil:
				want.Goals = append(want.Goals, *a.Goal)
			}
		}
	}
	if diff := cmp.Diff(want, f.run(false, idle), cmpopts.IgnoreFields(connector.FetchedPage{}, "State", "Checkpoint")); diff != "" {
		t.Errorf("drafts by sync differ from those by webhook (-want +got):\n%s", diff)
	}
}
