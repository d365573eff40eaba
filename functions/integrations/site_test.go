package integrations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/integrations"
	"orgops/shared/identity/application"
	"orgops/shared/testkit/oauthtest"
)

// atlassian serves the API of Atlassian, by its documents: the sites of a token, and the issues of one of them.
type atlassian struct {
	*httptest.Server

	sites string
	asked []string
}

const (
	cloud = "1324a887-45db-1bf4-1e99-ef0ff456d421"
	acme  = `{"id":"` + cloud + `","name":"Acme","url":"https://acme.atlassian.net","scopes":["read:jira-work"],"avatarUrl":"https://example.com/a.png"}`
	other = `{"id":"22222222-45db-1bf4-1e99-ef0ff456d421","name":"Other","url":"https://other.atlassian.net","scopes":["read:jira-work"]}`
)

func newAtlassian(t *testing.T, at *oauthtest.Server) *atlassian {
	t.Helper()
	a := &atlassian{sites: "[" + other + "," + acme + "]"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /oauth/token/accessible-resources", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, a.sites) })
	mux.HandleFunc("GET /ex/jira/{cloud}/rest/api/3/search/jql", func(w http.ResponseWriter, r *http.Request) {
		a.asked = append(a.asked, r.PathValue("cloud")+" "+r.URL.Query().Get("nextPageToken"))
		if r.URL.Query().Get("nextPageToken") == "" {
			fmt.Fprint(w, `{"issues":[{"id":"10001","key":"ENG-1","fields":{"summary":"Fix it","status":{"name":"Done"},"updated":"2026-03-01T08:00:00.000+0100"}}],"nextPageToken":"t2"}`)
			return
		}
		fmt.Fprint(w, `{"issues":[{"id":"10002","key":"ENG-2","fields":{"summary":"Ship it"}}],"isLast":true}`)
	})
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+at.Access() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// TestConnect_Site connects Jira, whose API is one for all sites: the integration reads its own site through it, also after its token was
// renewed.
func TestConnect_Site(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t)
	api := newAtlassian(t, at)
	s := setupConnect(t, application.Static{"jira": at.Application(api.URL)})
	s.configured("jira", map[string]any{"site": "acme.atlassian.net", "project": "ENG"}, 201)
	b := s.browser()
	led := b.connect("jira")
	asked := url.Values{"audience": led.Query()["audience"], "scope": led.Query()["scope"]}
	want(t, asked, url.Values{"audience": {"api.atlassian.com"}, "scope": {"read:jira-work offline_access"}})
	want(t, b.finish(at.Allow(led)), connected("jira"))
	if got := s.get("jira").Connection.Account; got != cloud {
		t.Errorf("the account is %q, want the site's id %s", got, cloud)
	}

	if got := s.certify("jira"); !got.Passed {
		t.Errorf("certification failed, want it passed: %+v", got.Checks)
	}
	for _, check := range s.certify("jira").Checks {
		if strings.HasSuffix(check.ID, "credentials") {
			if got := check.Evidence[0].Value; got != 1 { // the token; the address is no secret
				t.Errorf("%v credentials are counted, want 1", got)
			}
		}
	}
	s.clock.Advance(2 * time.Hour)
	api.asked = nil
	var p integrations.MeasurePreview
	s.do("POST", "/jira/measure/preview", map[string]any{"stream": "issues", "pointer": "/id", "aggregate": "count"}).Want(200).JSON(&p)
	if diff := cmp.Diff([]any{"2", ""}, []any{p.Value, p.Problem}); diff != "" {
		t.Errorf("the number of issues with a renewed token differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{cloud + " ", cloud + " t2"}, api.asked); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}

	s.configured("jira", map[string]any{"site": "other.atlassian.net", "project": "ENG"}, 200)
	if got := s.get("jira").Credentials; got != nil {
		t.Errorf("with another site, the credentials %v go on, want none", got.Names)
	}
}

// TestConnect_Site_Refused stores no access that is not to the configured site.
func TestConnect_Site_Refused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ sites, why string }{
		"another site":       {"[" + other + "]", "site"},
		"no site":            {"[]", "site"},
		"no list":            {"{}", "failed"},
		"an id with a slash": {`[{"id":"../x","url":"https://acme.atlassian.net"}]`, "site"},
		"another scheme":     {`[{"id":"x","url":"http://acme.atlassian.net"}]`, "site"},
	} {
		at := oauthtest.New(t)
		api := newAtlassian(t, at)
		api.sites = tt.sites
		s := setupConnect(t, application.Static{"jira": at.Application(api.URL)})
		s.configured("jira", map[string]any{"site": "acme.atlassian.net", "project": "ENG"}, 201)
		b := s.browser()
		t.Log(name)
		want(t, b.finish(at.Allow(b.connect("jira"))), notMade("jira", tt.why))
		if got := s.get("jira").Connection; got != nil {
			t.Errorf("%s: the connection %+v is stored, want none", name, got)
		}
	}
}
