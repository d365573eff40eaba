package integrations_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/application"
	"orgops/shared/testkit/githubtest"
)

// app is a service whose operator has registered a GitHub App, with an integration of its repository.
func app(t *testing.T) (*service, *githubtest.Server, *githubtest.App) {
	t.Helper()
	var s *service
	at := githubtest.New(t, func() time.Time { return s.clock.Now() })
	registered := at.Register(t)
	s = setupConnect(t, application.Static{"github": registered.Application()})
	s.configured("github", map[string]any{"repository": githubtest.Repository, "baseUrl": at.URL}, 201)
	at.Put("issues", githubtest.Issue(1, "Ship it", s.clock.Now()))
	return s, at, registered
}

// pulls runs the certification, and returns the ports that it opens.
func (s *service) pulls() []string {
	s.t.Helper()
	s.do("POST", "/github/certification", nil).Want(200)
	if c := s.get("github").Certification; c != nil {
		return c.Ports
	}
	return nil
}

// TestConnect_App connects by the installation of a GitHub App. The token is narrowed to what the user may read, is made once in an hour
// and fetches.
func TestConnect_App(t *testing.T) {
	t.Parallel()
	s, _, registered := app(t)
	b := s.browser()
	want(t, b.finish(registered.Install(b.connect("github"), true)), connected("github"))
	for range 2 {
		if got := s.pulls(); !slices.Contains(got, "sync.pull") {
			t.Errorf("the certification opens %v, want the repository to be fetched", got)
		}
	}
	if got := registered.Made(); got != 1 {
		t.Errorf("%d tokens made, want 1", got)
	}
	s.clock.Advance(time.Hour)
	s.pulls()
	if got := registered.Made(); got != 2 {
		t.Errorf("%d tokens made after an hour, want 2", got)
	}
}

// TestConnect_App_Refused binds an installation to a company only if the user who comes back may read it.
func TestConnect_App_Refused(t *testing.T) {
	t.Parallel()
	s, _, registered := app(t)
	b := s.browser()
	for name, tt := range map[string]struct {
		may  bool
		edit func(url.Values)
		want string
	}{
		"another user's installation":      {false, func(url.Values) {}, "installation"},
		"another installation":             {true, func(a url.Values) { a.Set("installation_id", "7002") }, "installation"},
		"no number":                        {true, func(a url.Values) { a.Set("installation_id", "x") }, "installation"},
		"none, but a request to the owner": {true, func(a url.Values) { a.Del("installation_id") }, "installation"},
		"no code":                          {true, func(a url.Values) { a.Del("code") }, "denied"},
		"another code":                     {true, func(a url.Values) { a.Set("code", "guess") }, "refused"},
	} {
		answer := registered.Install(b.connect("github"), tt.may)
		tt.edit(answer)
		if got := b.finish(answer).Get("refused"); got != tt.want {
			t.Errorf("%s: refused = %q, want %q", name, got, tt.want)
		}
	}
	if s.get("github").Credentials != nil {
		t.Error("credentials were stored")
	}
	if got := registered.Made(); got != 0 {
		t.Errorf("%d tokens made, want 0", got)
	}
}

// TestConnect_App_Uninstalled asks for a new connection after the app was uninstalled, takes one of the same account, and refuses one of
// another.
func TestConnect_App_Uninstalled(t *testing.T) {
	t.Parallel()
	s, _, registered := app(t)
	b := s.browser()
	want(t, b.finish(registered.Install(b.connect("github"), true)), connected("github"))
	registered.Uninstall()
	s.clock.Advance(time.Hour)
	s.do("POST", "/github/certification", nil).Want(409)
	if s.get("github").Connection.LostAt == nil {
		t.Error("the connection is not marked as lost")
	}
	registered.Move(502)
	want(t, b.finish(registered.Install(b.connect("github"), true)), notMade("github", "account"))
	registered.Move(501)
	want(t, b.finish(registered.Install(b.connect("github"), true)), connected("github"))
	if s.get("github").Connection.LostAt != nil {
		t.Error("the connection is still marked as lost")
	}
}

// TestConnect_App_Named stores the repositories that the configuration names, of an installation with many more, in answers as large as
// GitHub's. The end of a repository that nothing names changes nothing.
func TestConnect_App_Named(t *testing.T) {
	t.Parallel()
	s, _, registered := app(t)
	registered.Cover(120)
	b := s.browser()
	want(t, b.finish(registered.Install(b.connect("github"), true)), connected("github"))
	if diff := cmp.Diff([]int64{githubtest.RepositoryID}, s.grant("github").Repositories); diff != "" {
		t.Errorf("repositories (-want +got):\n%s", diff)
	}
	registered.Remove(1)
	registered.Remove(githubtest.SecondID)
	s.clock.Advance(time.Hour)
	if got := s.pulls(); !slices.Contains(got, "sync.pull") {
		t.Errorf("the certification opens %v, want the repository to be fetched", got)
	}
}

// TestConnect_App_Removed keeps the access to the repositories that are left, and ends the connection after the last one.
func TestConnect_App_Removed(t *testing.T) {
	t.Parallel()
	s, at, registered := app(t)
	s.configured("github", map[string]any{"organization": "octo", "baseUrl": at.URL}, 200)
	b := s.browser()
	want(t, b.finish(registered.Install(b.connect("github"), true)), connected("github"))
	if diff := cmp.Diff([]int64{githubtest.RepositoryID, githubtest.SecondID}, s.grant("github").Repositories); diff != "" {
		t.Errorf("repositories (-want +got):\n%s", diff)
	}
	registered.Remove(githubtest.SecondID)
	s.clock.Advance(time.Hour)
	s.pulls()
	if s.get("github").Connection.LostAt != nil {
		t.Error("the connection is marked as lost, although a repository is left")
	}
	if diff := cmp.Diff([]int64{githubtest.RepositoryID}, s.grant("github").Repositories); diff != "" {
		t.Errorf("repositories after one has gone (-want +got):\n%s", diff)
	}
	registered.Remove(githubtest.RepositoryID)
	s.clock.Advance(time.Hour)
	s.do("POST", "/github/certification", nil).Want(409)
	if s.get("github").Connection.LostAt == nil {
		t.Error("the connection is not marked as lost")
	}
}

// TestConnect_App_Passing keeps the connection while GitHub refuses tokens for a rate limit, or for what is no repository's end.
func TestConnect_App_Passing(t *testing.T) {
	t.Parallel()
	s, at, registered := app(t)
	b := s.browser()
	want(t, b.finish(registered.Install(b.connect("github"), true)), connected("github"))
	for name, answer := range map[string]func(w http.ResponseWriter){
		"Retry-After": func(w http.ResponseWriter) { w.Header().Set("Retry-After", "60"); w.WriteHeader(403) },
		"exhausted":   func(w http.ResponseWriter) { w.Header().Set("X-RateLimit-Remaining", "0"); w.WriteHeader(403) },
		"secondary": func(w http.ResponseWriter) {
			w.WriteHeader(403)
			_, _ = w.Write([]byte(`{"message": "You have exceeded a secondary rate limit."}`))
		},
		"429": func(w http.ResponseWriter) { w.WriteHeader(429) },
		"500": func(w http.ResponseWriter) { w.WriteHeader(500) },
	} {
		at.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/access_tokens") {
				return false
			}
			answer(w)
			return true
		})
		s.clock.Advance(time.Hour)
		s.do("POST", "/github/certification", nil).Want(503)
		if s.get("github").Connection.LostAt != nil {
			t.Errorf("%s: the connection is marked as lost", name)
		}
		at.Before(nil)
		s.clock.Advance(time.Minute)
		if got := s.pulls(); !slices.Contains(got, "sync.pull") {
			t.Errorf("%s: afterwards the certification opens %v, want the repository to be fetched", name, got)
		}
	}
}
