package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/github"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/githubtest"
	"orgops/shared/webhook/outbound"
)

// several serves octo/app and octo/site, and lists them with the archive, which the token may not read, as those of the organization octo.
func several(t *testing.T, config string) *fetching {
	t.Helper()
	f := serve(t)
	f.config = json.RawMessage(fmt.Sprintf(`{%s,"baseUrl":%q}`, config, f.URL))
	f.Put("issues", githubtest.Issue(7, "Of the app", monday.Add(-time.Hour)))
	f.Before(func(w http.ResponseWriter, r *http.Request) bool {
		path := strings.TrimPrefix(r.URL.Path, githubtest.Base)
		var body string
		switch {
		case r.Header.Get("Authorization") != "Bearer "+githubtest.Token:
			return false
		case path == "/orgs/Octo/repos": // GitHub finds names without regard to case
			body = `[{"full_name":"octo/app"},{"full_name":"octo/archive"},{"full_name":"octo/site"},{"full_name":"other/app"},{"full_name":"octo/.."}]`
		case path == "/repos/octo/site/issues":
			body = `[{"id":70,"number":7,"title":"Of the site","state":"open","updated_at":"2026-03-01T00:00:00Z"}]`
		case strings.HasPrefix(path, "/repos/octo/site/"):
			body = `[]`
		default:
			return false
		}
		tag := fmt.Sprintf(`"%d %s"`, len(body), r.URL.RawQuery)
		if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
		_, _ = w.Write([]byte(body))
		return true
	})
	return f
}

func titles(all connector.FetchedPage) (found []string) {
	for _, m := range all.Memories {
		found = append(found, m.ExternalID+" "+m.Title)
	}
	return found
}

// TestFetch_Several reads several repositories, or those of an organization, with the state of each. A refused one stops no other,
// and nothing is removed in that run. A run in which nothing has changed is one page.
func TestFetch_Several(t *testing.T) {
	t.Parallel()
	for _, config := range []string{`"repositories":["octo/app","octo/archive","octo/site"]`, `"organization":"Octo"`} {
		f := several(t, config)
		var skipped []string
		incomplete, pages := false, 0
		var checkpoint json.RawMessage
		var all connector.FetchedPage
		for {
			page, err := f.page(checkpoint, false)
			if err != nil {
				t.Fatalf("%s: %v", config, err)
			}
			pages++
			all.Memories = append(all.Memories, page.Memories...)
			incomplete = incomplete || page.Incomplete
			for _, s := range page.Skipped {
				skipped = append(skipped, s.Item)
			}
			if checkpoint = page.Checkpoint; checkpoint == nil {
				f.state = page.State
				break
			}
		}
		got := []any{titles(all), skipped, incomplete}
		if diff := cmp.Diff([]any{[]string{"octo/app/issues/7 Of the app", "issues/70 Of the site"}, []string{"octo/archive"}, true}, got); diff != "" {
			t.Errorf("%s: items, skipped repositories, incomplete differ (-want +got):\n%s", config, diff)
		}
		f.Requests()
		f.run(false, idle)
		requests, _ := f.Requests()
		for _, since := range []string{"/repos/octo/app/issues", "since=2026-03-02T06%3A59%3A59Z", "/repos/octo/site/issues", "since=2026-02-28T23%3A59%3A59Z"} {
			if !strings.Contains(strings.Join(requests, " "), since) {
				t.Errorf("%s: the next run asks for %q, want %s", config, requests, since)
			}
		}
	}
}

// TestFetch_Several_Unchanged asks for each list of 30 repositories with its validator, twenty in one fetch. Of a server that needs four
// seconds for an answer it asks for three lists, because a fetch that takes too long begins again where it was.
func TestFetch_Several_Unchanged(t *testing.T) {
	t.Parallel()
	names := make([]string, 30)
	for n := range names {
		names[n] = fmt.Sprintf("octo/r%d", n)
	}
	raw, _ := json.Marshal(names)
	f := serve(t)
	clock, takes := clocktest.At(monday), time.Duration(0)
	f.source = github.New(outbound.New(outbound.Options{AllowLoopback: true}), clock.Now)
	f.config = json.RawMessage(fmt.Sprintf(`{"repositories":%s,"baseUrl":%q}`, raw, f.URL))
	f.Fail(func(w http.ResponseWriter, r *http.Request) {
		clock.Advance(takes)
		if w.Header().Set("ETag", `"same"`); r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(`[]`))
	})
	f.run(false, idle)
	pages := 1
	f.run(false, func(int) { pages++ })
	if want := 90 / 20; pages > want+1 {
		t.Errorf("a run without a change has %d pages, want at most %d", pages, want+1)
	}
	pages, takes = 1, 4*time.Second
	f.run(false, func(int) { pages++ })
	if want := 90 / 3; pages != want {
		t.Errorf("a run of a slow server has %d pages, want %d", pages, want)
	}
}

// TestFetch_Several_Refused ends a run if GitHub refuses the token, or all of the repositories.
func TestFetch_Several_Refused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, config, token, want string }{
		{"the token", `"repositories":["octo/app","octo/site"]`, "wrong", "GitHub refuses the token; store a valid one"},
		{"the only one", `"repositories":["octo/archive"]`, githubtest.Token, "GitHub does not show this repository"},
		{"another organization", `"organization":"other"`, githubtest.Token, "GitHub does not list the repositories of this organization"},
	}
	for _, tt := range tests {
		f := several(t, tt.config)
		_, err := f.source.Fetch(t.Context(), connector.Fetch{Config: f.config, Credentials: map[string]string{"token": tt.token}})
		if !errors.Is(err, connector.ErrRefused) {
			t.Errorf("%s: err = %v, want a refusal", tt.name, err)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: err = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestLocate_Several takes the arrivals of each configured repository, also in the notice of a rename.
func TestLocate_Several(t *testing.T) {
	t.Parallel()
	tests := []struct {
		config, name string
		taken        bool
	}{
		{`{"repositories":["octo/app","octo/site"]}`, "Octo/Site", true},
		{`{"repositories":["octo/app","octo/site"]}`, "octo/other", false},
		{`{"organization":"octo"}`, "OCTO/anything", true},
		{`{"organization":"octo"}`, "octocat/app", false},
		{`{}`, "octo/app", false},
	}
	for _, tt := range tests {
		payload := map[string]any{"repository": map[string]any{"id": json.Number("5"), "full_name": tt.name}}
		got := (&github.Connector{}).Locate(json.RawMessage(tt.config), integration.Place{}, http.Header{"X-Github-Event": {"issues"}}, payload)
		if taken := got.Outside == ""; taken != tt.taken {
			t.Errorf("%s: an arrival about %s is taken = %t, want %t", tt.config, tt.name, taken, tt.taken)
		}
	}
}

func TestCheckConfig_Several(t *testing.T) {
	t.Parallel()
	tests := []struct{ config, want string }{
		{`{}`, "[{/repository give one of repository, repositories and organization}]"},
		{`{"repository":"octo/app","organization":"octo"}`, "[{/repository give one of repository, repositories and organization}]"},
		{`{"repositories":["octo/app","octo/..","Octo/App"]}`, "[{/repositories/1 is not the name of a repository} {/repositories/2 is listed twice}]"},
		{`{"repositories":["octo/app","octo/site"]}`, "[]"},
		{`{"organization":"octo"}`, "[]"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint((&github.Connector{}).CheckConfig(json.RawMessage(tt.config))); got != tt.want {
			t.Errorf("%s: problems %s, want %s", tt.config, got, tt.want)
		}
	}
}
