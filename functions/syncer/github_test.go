package syncer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/github"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/githubtest"
	"orgops/shared/testkit/worktest"
)

// setupGitHub configures and certifies the connector github for a fake GitHub, and stores a token.
func setupGitHub(t *testing.T, token string) (*running, *githubtest.Server) {
	t.Helper()
	r := setup(t)
	server := githubtest.New(t, r.Clock.Now)
	c := github.New(r.Client, r.Clock.Now)
	r.Connectors, r.named = connector.New(c), github.Kind
	ports, now := c.Ports(nil), r.Clock.Now()
	r.Put("a", integration.Key(github.Kind), integration.Entity, integration.Integration{
		Provider: github.Kind, Kind: github.Kind, State: integration.Certified, Enabled: true, Permissions: ports,
		Config:        json.RawMessage(fmt.Sprintf(`{"repository":%q,"baseUrl":%q}`, githubtest.Repository, server.URL)),
		Certification: &integration.Certification{PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor), Ports: ports},
	})
	if token != "" {
		company := store.For(r.Harness.Store, "a")
		op, err := integration.SaveSecrets(t.Context(), company, r.Syncer.Vault, integration.Integration{Provider: github.Kind}, 0, integration.Secrets{Values: map[string]string{"token": token}})
		errtest.Must(t, err)
		errtest.Must(t, company.Commit(t.Context(), op))
	}
	return r, server
}

// TestSyncer_GitHub imports a repository, and then only what has changed.
func TestSyncer_GitHub(t *testing.T) {
	t.Parallel()
	r, server := setupGitHub(t, githubtest.Token)
	now := r.Clock.Now()
	for n := range 130 {
		server.Put("issues", githubtest.Issue(n+1, fmt.Sprint("Issue ", n), now.Add(time.Duration(n-500)*time.Minute)))
	}
	server.Put("milestones", githubtest.Item{"number": 1, "title": "Beta", "state": "open", "open_issues": 1, "closed_issues": 1})
	published := now.AddDate(0, 0, -3).Truncate(time.Second)
	server.Put("releases", githubtest.Item{"tag_name": "v1", "published_at": published.Format(time.RFC3339)})
	first := r.sync(syncrun.Live)
	r.wantProgress(first, syncrun.Progress{Pages: 4, Fetched: 133, Created: 132, Unchanged: 1}) // the second page begins a second earlier
	r.wantMemories(130)
	goals := worktest.All[goal.Goal](r.Harness, "a", goal.Prefix)
	if len(goals) != 1 {
		t.Fatalf("goals %+v, want one", goals)
	}
	if got := goals[0].Progress; got != 0.5 {
		t.Errorf("the goal's progress is %v, want 0.5", got)
	}
	notes := worktest.All[timeline.Entry](r.Harness, "a", timeline.Prefix)
	if len(notes) != 1 {
		t.Fatalf("timeline %+v, want one note", notes)
	}
	if !notes[0].At.Equal(published) {
		t.Errorf("the release is noted at %v, want when it was published, %v", notes[0].At, published)
	}
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 2, Fetched: 1, Unchanged: 1}) // the last change again, and its validator
	server.Requests()
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1})
	if all, counted := server.Requests(); counted != 0 {
		t.Errorf("%d of the requests %v count against the rate limit, want none", counted, all)
	}
	server.Put("issues", githubtest.Issue(5, "Renamed", now))
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 2, Fetched: 2, Updated: 1, Unchanged: 1})
}

// TestSyncer_GitHubExpiry stores when the token expires, as GitHub says with what it answers, and writes it once.
func TestSyncer_GitHubExpiry(t *testing.T) {
	t.Parallel()
	r, server := setupGitHub(t, githubtest.Token)
	server.Put("issues", githubtest.Issue(1, "Issue", r.Clock.Now()))
	company := store.For(r.Harness.Store, "a")
	i, version, err := integration.Load(t.Context(), company, github.Kind)
	errtest.Must(t, err)
	stated := r.Clock.Now().AddDate(1, 0, 0)
	i.Credentials = &integration.CredentialNames{Names: []string{"token"}, UpdatedAt: r.Clock.Now(), ExpiresAt: &stated}
	errtest.Must(t, company.Commit(t.Context(), company.Replace(integration.Key(github.Kind), integration.Entity, version, i)))
	version++
	ends := time.Date(2030, 5, 1, 8, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		says    string
		want    time.Time
		changes int64
	}{
		{"", stated, 0}, {"2030-05-01 08:00:00 UTC", ends, 1}, {"2030-05-01 08:00:00 UTC", ends, 0}, {"", ends, 0}, {"2031-05-01 08:00:00 UTC", ends.AddDate(1, 0, 0), 1},
	} {
		server.Expire(step.says)
		r.finish(r.request(syncrun.Live), syncrun.Succeeded)
		i, is, err := integration.Load(t.Context(), company, github.Kind)
		errtest.Must(t, err)
		if got := is - version; got != step.changes {
			t.Errorf("%q: the sync wrote the integration %d times, want %d", step.says, got, step.changes)
		}
		if !i.Credentials.ExpiresAt.Equal(step.want) {
			t.Errorf("%q: the credentials expire at %v, want %v", step.says, i.Credentials.ExpiresAt, step.want)
		}
		version = is
	}
	r.wantMemories(1)
}

// TestSyncer_GitHubLimit spends the last request that GitHub allows, waits for the renewal, and continues at the next page.
func TestSyncer_GitHubLimit(t *testing.T) {
	t.Parallel()
	r, server := setupGitHub(t, githubtest.Token)
	for n := range 150 {
		server.Put("issues", githubtest.Issue(n+1, "Issue", r.Clock.Now().Add(time.Duration(n-500)*time.Minute)))
	}
	renewed := r.Clock.Now().Add(30 * time.Minute).Truncate(time.Second)
	server.Limit(1, renewed)
	j := r.request(syncrun.Live)
	if due := r.handle(j); !due.Equal(renewed) {
		t.Errorf("due again at %v, want %v", due, renewed)
	}
	rec := r.record(j)
	if rec.ThrottledUntil == nil {
		t.Fatal("the run shows no throttle, want one")
	}
	if got := rec.Progress.Created; got != 100 {
		t.Errorf("%d created, want 100", got)
	}
	server.Limit(-1, renewed)
	r.Clock.Set(renewed)
	r.finish(j, syncrun.Succeeded)
	r.wantMemories(150)
	if all, _ := server.Requests(); len(all) != 4 {
		t.Errorf("requests %v, want two for the issues and two for the other lists", all)
	}
}

// TestSyncer_GitHubRefused ends a run at once if a retry cannot help.
func TestSyncer_GitHubRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, token string
		answer      http.HandlerFunc
		want        string
	}{
		{"no token", "", nil, "the credential token is not stored; store it, then sync again"},
		{"a wrong token", "github_pat_wrong", nil, "GitHub refuses the token; store a valid one"},
		{"no such repository", githubtest.Token, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
			"GitHub does not show this repository; check its name, and that the token may read its issues"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, server := setupGitHub(t, tt.token)
			server.Fail(tt.answer)
			if diff := cmp.Diff(tt.want, r.finish(r.request(syncrun.Live), syncrun.Failed).Error); diff != "" {
				t.Errorf("error differs (-want +got):\n%s", diff)
			}
		})
	}
}
