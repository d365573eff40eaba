package inbound_test

import (
	"fmt"
	"testing"
	"time"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/testkit/errtest"
)

const (
	oldName = `"repository":{"id":42,"full_name":"octo/app"}`
	newName = `"repository":{"id":42,"full_name":"octo/shop"}`
	others  = `"repository":{"id":43,"full_name":"octo/docs"}`
	reused  = `"repository":{"id":44,"full_name":"octo/app"}`
)

// issueIn returns the arrival about an issue of a repository, as GitHub sends it.
func issueIn(repository, title string) string {
	return fmt.Sprintf(`{"action":"edited",%s,"issue":{"id":1001,"number":7,"title":%q,"milestone":{"id":501,"number":1,"title":"v1","state":"open"}}}`, repository, title)
}

// wantPlace checks what the integration shows of the repository.
func (s *service) wantPlace(want integration.Place) {
	s.t.Helper()
	var shown struct{ Place integration.Place }
	s.integrations("GET", "/github", nil).Want(200).JSON(&shown)
	if shown.Place != want {
		s.t.Errorf("place = %+v, want %+v", shown.Place, want)
	}
}

// TestRename follows a repository by its id: after it was renamed, and after its new name was configured, its arrivals change the
// same memories and goals. Another repository has no effect, even under the former name.
func TestRename(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	const created = "memory.upsert permitted created"
	s.wantReceipt(s.redeliver("issues", issueIn(oldName, "a"), 202), created, "goal.update permitted created")
	s.wantPlace(integration.Place{ID: "42", Name: "octo/app"})
	s.wantReceipt(s.redeliver("issues", issueIn(newName, "b"), 202), "memory.upsert permitted updated", "goal.update permitted unchanged")
	s.wantPlace(integration.Place{ID: "42", Name: "octo/shop"})
	s.wantEffect(s.redeliver("issues", issueIn(others, "c"), 202), "it is about another repository than the configured one")
	s.wantEffect(s.redeliver("issues", issueIn(reused, "c"), 202), "another repository has the configured name now; delete the integration and configure it again to follow that one")
	s.wantEffect(s.redeliver("ping", `{"zen":"x"}`, 202), "it only tries the address")
	s.integrations("POST", "/github", map[string]any{"repository": "octo/shop"}).Want(200)
	s.clock.Advance(time.Second)
	s.integrations("POST", "/github/certification", nil).Want(200)
	s.wantReceipt(s.redeliver("issues", issueIn(newName, "d"), 202), "memory.upsert permitted updated", "goal.update permitted unchanged")
	s.wantItems(memory.Prefix, 1)
	s.wantItems(goal.Prefix, 1)
	stored, err := arrival.Load(t.Context(), s.company(), s.owner("github"))
	errtest.Must(t, err)
	if got := len(stored.Ineffective); got != 2 {
		t.Errorf("%d reasons counted, want 2, without the ping: %v", got, stored.Ineffective.Reasons())
	}
}

// TestRename_Notice learns the repository from the notice of its rename or transfer, even if nothing else has arrived before.
func TestRename_Notice(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string]string{
		"renamed":                      `{"repository":{"name":{"from":"app"}}}`,
		"transferred by a user":        `{"owner":{"from":{"user":{"login":"octo"}}}}`,
		"transferred by an enterprise": `{"owner":{"from":{"organization":{"login":"octo"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.certified()
			is := `"repository":{"id":42,"full_name":"octo/shop"}`
			if name != "renamed" {
				is = `"repository":{"id":42,"full_name":"acme/app"}`
			}
			s.redeliver("repository", fmt.Sprintf(`{"action":"x","changes":%s,%s}`, changes, is), 202)
			s.wantReceipt(s.redeliver("issues", issueIn(is, "a"), 202), "memory.upsert permitted created", "goal.update permitted created")
		})
	}
}

// TestRename_Deleted notes that the configured repository was deleted, because nothing arrives from it afterwards. The deletion of
// another repository has no effect.
func TestRename_Deleted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.redeliver("issues", issueIn(oldName, "a"), 202)
	s.wantReceipt(s.redeliver("repository", fmt.Sprintf(`{"action":"deleted",%s}`, oldName), 202), "timeline.note permitted created")
	s.wantEffect(s.redeliver("repository", fmt.Sprintf(`{"action":"deleted",%s}`, others), 202), "it is about another repository than the configured one")
}

// TestRename_Team follows a team of Linear's by its id, and ignores the issues of other teams.
func TestRename_Team(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("linear", map[string]any{"team": "ENG", "signingSecret": "linear secret"})
	s.integrations("POST", "/linear/certification", nil).Want(200)
	send := func(id, key, title string) receipt {
		t.Helper()
		return s.sent(s.send("linear", "linear secret", "d", fmt.Sprintf(
			`{"action":"update","type":"Issue","data":{"id":"i1","title":%q,"team":{"id":%q,"key":%q}}}`, title, id, key)), 202)
	}
	s.wantReceipt(send("t1", "ENG", "a"), "memory.upsert permitted created")
	s.wantReceipt(send("t1", "DEV", "b"), "memory.upsert permitted updated")
	s.wantEffect(send("t2", "OPS", "c"), "it is about another team than the configured one")
	s.wantEffect(send("t2", "ENG", "d"), "it is about another team than the configured one")
	s.wantItems(memory.Prefix, 1)
}
