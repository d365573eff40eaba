package github_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"orgops/shared/provider/github"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/githubtest"
	"orgops/shared/webhook/outbound"
)

var _ connector.Authenticated = (*github.Connector)(nil)

var monday = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// fetching fetches from a fake GitHub.
type fetching struct {
	*githubtest.Server
	t      *testing.T
	source *github.Connector
	config json.RawMessage
	state  json.RawMessage
}

func serve(t *testing.T) *fetching {
	t.Helper()
	now := func() time.Time { return monday }
	s := githubtest.New(t, now)
	return &fetching{
		Server: s, t: t, source: github.New(outbound.New(outbound.Options{AllowLoopback: true}), now),
		config: json.RawMessage(fmt.Sprintf(`{"repository":"octo/app","baseUrl":%q}`, s.URL)),
	}
}

func (f *fetching) page(checkpoint json.RawMessage, full bool) (connector.FetchedPage, error) {
	return f.pageUntil(f.t.Context(), checkpoint, full)
}

func (f *fetching) pageUntil(ctx context.Context, checkpoint json.RawMessage, full bool) (connector.FetchedPage, error) {
	return f.source.Fetch(ctx, connector.Fetch{
		Config: f.config, Credentials: map[string]string{"token": githubtest.Token}, Checkpoint: checkpoint, State: f.state, Full: full,
	})
}

// run fetches every page of a run, calls between after each, and keeps the state.
func (f *fetching) run(full bool, between func(page int)) (all connector.FetchedPage) {
	f.t.Helper()
	for n := 1; ; n++ {
		page, err := f.page(all.Checkpoint, full)
		errtest.Must(f.t, err)
		all.Memories, all.Goals, all.Notes = append(all.Memories, page.Memories...), append(all.Goals, page.Goals...), append(all.Notes, page.Notes...)
		all.Shifting = all.Shifting || page.Shifting
		if all.Checkpoint = page.Checkpoint; page.Checkpoint == nil {
			f.state = page.State
			return all
		}
		between(n)
	}
}

func idle(int) {}

func ids(all connector.FetchedPage) map[string]bool {
	found := map[string]bool{}
	for _, m := range all.Memories {
		found[m.ExternalID] = true
	}
	return found
}

func TestConnector_Fetch(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.Put("issues", githubtest.Issue(7, "Printer on fire", monday.Add(-time.Hour)))
	waiting := githubtest.Issue(9, "Waits", monday.Add(-time.Minute))
	waiting["milestone"], waiting["labels"] = map[string]any{"number": 3}, []any{map[string]any{"name": "BLOCKED"}}
	f.Put("issues", waiting)
	pull := githubtest.Issue(8, "A pull request", monday)
	pull["pull_request"] = map[string]any{"url": "https://api.github.com/pulls/8"}
	f.Put("issues", pull)
	f.Put("milestones", githubtest.Item{
		"number": 3, "title": "Beta", "description": "All of it", "state": "open", "open_issues": 1, "closed_issues": 3,
		"due_on": "2026-06-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-03-01T00:00:00Z",
	})
	f.Put("releases", githubtest.Item{"tag_name": "v1", "name": "One", "published_at": "2026-03-01T09:00:00Z"})
	f.Put("releases", githubtest.Item{"tag_name": "v0", "published_at": "2020-01-01T00:00:00Z"})
	f.Put("releases", githubtest.Item{"tag_name": "v2", "draft": true, "published_at": nil})
	changed, due, began, moved := monday.Add(-time.Hour), monday.AddDate(0, 0, 91).Truncate(24*time.Hour), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), monday.AddDate(0, 0, -1).Truncate(24*time.Hour)
	first, err := f.page(nil, true)
	errtest.Must(t, err)
	if want := "octo/app/issues"; first.List != want {
		t.Errorf("the first page is of the list %q, want %q", first.List, want)
	}
	published := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	got := f.run(false, idle)
	want := connector.FetchedPage{
		Memories: []memory.Draft{{
			ExternalID: "octo/app/issues/7", Kind: "issue", Title: "Printer on fire", Body: "The body of Printer on fire",
			URL: "https://github.com/octo/app/issues/7", UpdatedAt: &changed,
		}, {
			ExternalID: "octo/app/issues/9", Kind: "issue", Title: "Waits", Body: "The body of Waits", URL: "https://github.com/octo/app/issues/9",
			Goal: "octo/app/milestones/3", Work: memory.WorkBlocked, UpdatedAt: new(monday.Add(-time.Minute)),
		}},
		Goals: []goal.Draft{{
			ExternalID: "octo/app/milestones/3", Title: "Beta", Target: "All of it", Progress: 0.75, DueAt: &due, StartedAt: &began, State: goal.Open, UpdatedAt: &moved,
		}},
		Notes: []connector.NoteDraft{{
			Title: "octo/app released One", Subject: "octo/app/releases/v1", Once: "octo/app/releases/v1@2026-03-01T09:00:00Z", At: &published,
			Details: json.RawMessage(`{"tag":"v1","name":"One","prerelease":false,"publishedAt":"2026-03-01T09:00:00Z"}`),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fetched differs (-want +got):\n%s", diff)
	}
}

// An issue whose time lies in the future, such as one of a server with a wrong clock, hides no change of another issue.
func TestConnector_Fetch_future(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.Put("issues", githubtest.Issue(1, "From 2099", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)))
	f.run(false, idle)
	f.Put("issues", githubtest.Issue(2, "New", monday.Add(time.Minute)))
	if got := ids(f.run(false, idle)); !got["octo/app/issues/2"] {
		t.Errorf("the next run finds %v, without the new issue", got)
	}
}

// A run that finds nothing new costs three requests that the rate limit does not count, and gets one page.
func TestConnector_Fetch_notModified(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for n := range 250 {
		f.Put("issues", githubtest.Issue(n+1, fmt.Sprint("Issue ", n), monday.Add(time.Duration(n-250)*time.Minute)))
	}
	f.run(false, idle)
	f.run(false, idle) // asks for the changes since the last one, which gets a validator
	f.Requests()
	page, err := f.page(nil, false)
	errtest.Must(t, err)
	if page.Checkpoint != nil {
		t.Errorf("checkpoint %s, want none", page.Checkpoint)
	}
	requests, counted := f.Requests()
	if len(requests) != 3 {
		t.Errorf("requests %v, want 3", requests)
	}
	if counted != 0 {
		t.Errorf("%d requests count, want 0", counted)
	}
	f.state = page.State
	f.Put("issues", githubtest.Issue(3, "Changed", monday.AddDate(0, 0, 1)))
	if got := f.run(false, idle); !ids(got)["octo/app/issues/3"] {
		t.Errorf("fetched %+v, want the changed issue", got.Memories)
	}
	if got := len(ids(f.run(true, idle))); got != 250 {
		t.Errorf("a full run fetched %d issues, want 250", got)
	}
}

// TestConnector_Fetch_full finds the milestone behind a first page that was full, and has not changed since.
func TestConnector_Fetch_full(t *testing.T) {
	t.Parallel()
	f := serve(t)
	put := func(n int) {
		f.Put("milestones", githubtest.Item{"number": n, "title": fmt.Sprint("Milestone ", n), "state": "open", "updated_at": "2026-03-01T00:00:00Z"})
	}
	for n := range 100 {
		put(n + 1)
	}
	f.run(false, idle)
	put(101)
	found := false
	for _, g := range f.run(false, idle).Goals {
		found = found || g.ExternalID == "octo/app/milestones/101"
	}
	if !found {
		t.Error("the next run does not find the new milestone")
	}
}

// While a run reads page after page, issues change, vanish and appear. The run and the next one together miss none.
func TestConnector_Fetch_moving(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for n := range 450 {
		f.Put("issues", githubtest.Issue(n+1, fmt.Sprint("Issue ", n), monday.Add(time.Duration(n/40)*time.Second)))
	}
	found := ids(f.run(false, func(n int) {
		f.Delete("issues", githubtest.Issue(n, "", monday))                                         // was read
		f.Put("issues", githubtest.Issue(n+10, "Changed", monday.Add(time.Duration(n)*time.Hour)))  // was read
		f.Put("issues", githubtest.Issue(440+n, "Later", monday.Add(time.Duration(n)*time.Hour)))   // was not read
		f.Put("issues", githubtest.Issue(1000+n, "New", monday.Add(time.Duration(n)*24*time.Hour))) // at the end
		f.Delete("issues", githubtest.Issue(1000+n-1, "", monday))                                  // before it was read
	}))
	for id := range ids(f.run(false, idle)) {
		found[id] = true
	}
	for n := range 450 {
		if id := fmt.Sprintf("octo/app/issues/%d", n+1); !found[id] {
			t.Errorf("%s was not fetched, want every issue", id)
		}
	}
}

// Issues that were imported at once, more than a page of them in one second, are read by GitHub's links.
func TestConnector_Fetch_imported(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for n := range 350 {
		f.Put("issues", githubtest.Issue(n+1, fmt.Sprint("Issue ", n), monday.Add(time.Duration(n/300)*time.Minute)))
	}
	if got := len(ids(f.run(false, idle))); got != 350 {
		t.Errorf("fetched %d issues, want 350", got)
	}
}

// A run is shifting once it follows a link to a numbered page, also if that page has nothing but pull requests. Pages of issues
// that begin at a time do not shift.
func TestConnector_Fetch_shifting(t *testing.T) {
	t.Parallel()
	milestone := func(n int) githubtest.Item {
		return githubtest.Item{"number": n, "title": "Milestone", "state": "open"}
	}
	atOnce := func(n int) githubtest.Item { return githubtest.Issue(n, "Issue", monday) }
	tests := []struct {
		name, list string
		items      int
		item       func(n int) githubtest.Item
		want       bool
	}{
		{"one page of milestones", "milestones", 100, milestone, false},
		{"two pages of milestones", "milestones", 101, milestone, true},
		{"issues that changed one after the other", "issues", 250, func(n int) githubtest.Item {
			return githubtest.Issue(n, "Issue", monday.Add(time.Duration(n)*time.Minute))
		}, false},
		{"issues that changed at once", "issues", 101, atOnce, true},
		{"the second page has pull requests alone", "issues", 150, func(n int) githubtest.Item {
			item := atOnce(n)
			if n > 100 {
				item["pull_request"] = map[string]any{"url": "https://api.github.com/pulls"}
			}
			return item
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t)
			for n := range tt.items {
				f.Put(tt.list, tt.item(n+1))
			}
			if got := f.run(true, idle).Shifting; got != tt.want {
				t.Errorf("the run is shifting: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestConnector_Fetch_refusals(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for n := 0; n < len(headers); n += 2 {
				w.Header().Set(headers[n], headers[n+1])
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	at := func(d time.Duration) string { return fmt.Sprint(monday.Add(d).Unix()) }
	tests := []struct {
		name   string
		answer http.HandlerFunc
		wait   time.Duration // 0: not throttled
		final  bool
		says   string
	}{
		{"primary limit", answer(403, `{}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", at(20*time.Minute)), 20 * time.Minute, false, ""},
		{"primary limit, no time", answer(429, `{}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "x"), time.Minute, false, ""},
		{"primary limit, absurd time", answer(403, `{}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", at(9000*time.Hour)), 24 * time.Hour, false, ""},
		{"secondary limit", answer(403, `{"message":"You have exceeded a secondary rate limit."}`, "X-RateLimit-Remaining", "42"), time.Minute, false, ""},
		{"down, with a time", answer(502, `{}`, "Retry-After", "90"), 90 * time.Second, false, ""},
		{"secondary limit, with a time", answer(429, `{}`, "Retry-After", "90"), 90 * time.Second, false, ""},
		{"forbidden", answer(403, `{"message":"Resource not accessible by personal access token"}`), 0, true, "refuses the token for this repository"},
		{"bad credentials", answer(401, `{"message":"Bad credentials"}`), 0, true, "refuses the token"},
		{"unknown repository", answer(404, `{"message":"Not Found"}`), 0, true, "does not show this repository"},
		{"renamed", answer(301, "", "Location", "https://api.github.com/repositories/1/issues"), 0, false, "redirects to https://api.github.com/repositories/1/issues,"},
		{"issues disabled", answer(410, `{}`), 0, true, "disabled"},
		{"down", answer(502, ""), 0, false, "answers 502"},
		{"truncated", answer(200, `[{"number":1,"title":"a"},{"numb`), 0, false, "cut off"},
		{"another document", answer(200, `{"message":"hello"}`), 0, false, `begins "{\"message\":\"hello\"}"`},
		{"null", answer(200, `null`), 0, false, "not the list"},
		{"empty", answer(200, ``), 0, false, "not the list"},
		{"a web page", answer(200, `<html>Sign in`, "Content-Type", "text/html"), 0, false, `text/html, which begins "Sign in"`},
		{"a 304 that was not asked for", answer(304, ""), 0, false, "did not ask"},
		{"no content", answer(204, ""), 0, false, "answers 204"},
		{"a part", answer(206, "[]"), 0, false, "a part of the list"},
		{"more behind the list", answer(200, `[]{"message":"x"}`), 0, false, "not the list"},
		{"too large", answer(200, `["`+strings.Repeat("x", 33<<20)), 0, false, "larger than 32 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t)
			f.Fail(tt.answer)
			_, err := f.page(nil, false)
			var throttled *connector.ThrottledError
			if errors.As(err, &throttled) {
				if got := throttled.Until.Sub(monday); got != tt.wait {
					t.Errorf("throttled for %v, want %v", got, tt.wait)
				}
				return
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
			if strings.Contains(err.Error(), githubtest.Token) {
				t.Errorf("error %q names the token, want it kept out", err)
			}
		})
	}
}

// The last request that a rate limit allows gets its page, and the next page is asked for after the limit's renewal.
func TestConnector_Fetch_lastRequest(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for n := range 150 {
		f.Put("issues", githubtest.Issue(n+1, "Issue", monday.Add(time.Duration(n)*time.Minute)))
	}
	renewed := monday.Add(40 * time.Minute)
	f.Limit(1, renewed)
	page, err := f.page(nil, false)
	errtest.Must(t, err)
	if len(page.Memories) != 100 {
		t.Errorf("%d memories, want 100", len(page.Memories))
	}
	if !page.NotBefore.Equal(renewed) {
		t.Errorf("not before %v, want %v", page.NotBefore, renewed)
	}
}

// A link to another host is not followed, because the token would go there.
// A link to another host is not followed. It is no end of the list either: a full run would remove the issues behind it.
func TestConnector_Fetch_foreignLink(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `<https://attacker.example/next>; rel="next"`)
		fmt.Fprint(w, "[]")
	})
	_, err := f.page(nil, true)
	if got, want := errtest.Message(err), "leads to another host"; !strings.Contains(got, want) {
		t.Errorf("err = %q, want %q in it", got, want)
	}
	if all, _ := f.Requests(); len(all) != 1 {
		t.Errorf("requests %v, want one", all)
	}
}

// A thing makes the same draft, whether it comes by webhook or by sync. So neither changes what the other stored.
func TestConnector_Fetch_sameAsWebhook(t *testing.T) {
	t.Parallel()
	f := serve(t)
	things := []struct {
		event, list, name string
		item              githubtest.Item
	}{
		{"issues", "issues", "issue", githubtest.Issue(7, " ", monday)},
		{"milestone", "milestones", "milestone", githubtest.Item{
			"number": 3, "title": "Beta", "description": nil, "state": "closed", "open_issues": 2, "closed_issues": 1, "html_url": "https://github.com/octo/app/milestone/3",
			"due_on": "2026-06-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-03-01T00:00:00Z",
		}},
		{"release", "releases", "release", githubtest.Item{
			"tag_name": "v1", "name": "", "html_url": "https://github.com/octo/app/releases/tag/v1", "prerelease": true, "draft": false,
			"published_at": "2026-03-01T09:00:00Z", "author": map[string]any{"login": "ada"},
		}},
	}
	var want connector.FetchedPage
	for _, thing := range things {
		f.Put(thing.list, thing.item)
		body, err := json.Marshal(map[string]any{"action": "published", thing.name: thing.item, "repository": map[string]any{"full_name": "octo/app"}})
		errtest.Must(t, err)
		mapped, err := actions(json.RawMessage(config), header("X-GitHub-Event", thing.event), body)
		errtest.Must(t, err)
		for _, a := range mapped {
			switch {
			case a.Memory != nil:
				want.Memories = append(want.Memories, *a.Memory)
			case a.Goal != nil:
				want.Goals = append(want.Goals, *a.Goal)
			case a.Note != nil:
				want.Notes = append(want.Notes, *a.Note)
			}
		}
	}
	got := f.run(false, idle)
	sameJSON := cmp.Transformer("JSON", func(raw json.RawMessage) (v any) {
		_ = json.Unmarshal(raw, &v) // a page has no checkpoint, which is nil on both sides
		return v
	})
	if diff := cmp.Diff(want, got, sameJSON, cmpopts.IgnoreFields(connector.NoteDraft{}, "At"), cmpopts.IgnoreFields(connector.FetchedPage{}, "State")); diff != "" {
		t.Errorf("drafts by sync differ from those by webhook (-want +got):\n%s", diff)
	}
}

// A server that does not answer ends with the caller's time.
func TestConnector_Fetch_slow(t *testing.T) {
	t.Parallel()
	f := serve(t)
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
	_, err := f.pageUntil(ctx, nil, true)
	if got, want := errtest.Message(err), "GitHub cannot be reached"; !strings.Contains(got, want) {
		t.Errorf("err = %q, want %q in it", got, want)
	}
}

// GitHub says in each answer when a token expires, in one of two forms.
func TestConnector_Fetch_expiry(t *testing.T) {
	t.Parallel()
	may := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	for said, want := range map[string]time.Time{"2026-05-01 08:00:00 UTC": may, "2026-05-01 10:00:00 +0200": may, "soon": {}, "": {}} {
		f := serve(t)
		f.Put("issues", githubtest.Issue(7, "Printer on fire", monday))
		f.Expire(said)
		page, err := f.page(nil, true)
		errtest.Must(t, err)
		if !page.CredentialsUntil.Equal(want) {
			t.Errorf("%q: the token expires at %v, want %v", said, page.CredentialsUntil, want)
		}
	}
}
