package memory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/testkit/webtest"
)

// TestBound shows a caller that is bound to an integration what that integration imported, and nothing else.
func TestBound(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Sandbox)
	run := s.sync()
	memories, goals := map[string]string{}, map[string]string{}
	for _, provider := range []string{"github", "feed"} {
		m, _ := memory.Apply(memory.Memory{}, provider, memory.Draft{ExternalID: "1", Kind: "issue", Title: "t"}, s.now)
		s.put(memory.Key(m.ID), memory.Entity, m)
		g, _ := goal.Apply(goal.Goal{}, provider, goal.Draft{ExternalID: "1", Title: "t", State: goal.Open}, s.now)
		s.put(goal.Key(g.ID), goal.Entity, g)
		memories[provider], goals[provider] = m.ID, g.ID
	}
	ask := func(provider, method, rest string) *webtest.Response {
		t.Helper()
		return s.Do(method, s.at(rest), s.BoundToken(s.A.ID, provider), nil)
	}
	for _, tt := range []struct {
		provider, list string
		want           []string
	}{
		{"github", "/memory", []string{memories["github"]}},
		{"github", "/memory?provider=github", []string{memories["github"]}},
		{"github", "/memory?provider=feed", nil},
		{"feed", "/goals", []string{goals["feed"]}},
		{"github", "/goals?provider=feed", nil},
		{"feed", "/memory/syncs", []string{run.ID}},
		{"github", "/memory/syncs", nil},
		{"github", "/memory/syncs?provider=feed", nil},
	} {
		var got page
		ask(tt.provider, "GET", tt.list).Want(200).JSON(&got)
		if diff := cmp.Diff(tt.want, got.ids()); diff != "" {
			t.Errorf("%s for %s (-want +got):\n%s", tt.list, tt.provider, diff)
		}
	}
	for _, one := range []string{"/memory/" + memories["github"], "/goals/" + goals["github"]} {
		ask("github", "GET", one).Want(200)
		ask("feed", "GET", one).WantProblem(403, "forbidden")
	}
	ask("github", "POST", "/memory/sync/feed").WantProblem(403, "forbidden")
	ask("github", "GET", "/memory/syncs/"+run.ID).WantProblem(403, "forbidden")
	ask("github", "POST", "/memory/syncs/"+run.ID+"/cancel").WantProblem(403, "forbidden")
	ask("feed", "GET", "/memory/syncs/"+run.ID).Want(200)
	ask("feed", "POST", "/memory/syncs/"+run.ID+"/cancel").Want(200)
	ask("github", "GET", "/memory/"+id.New()).WantProblem(404, "not-found")
}
