package inbound_test

import (
	"fmt"
	"testing"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
)

// githubIssue returns an issue's arrival as of a minute of the day, with its milestone.
func githubIssue(title string, minute, closed int) string {
	at := fmt.Sprintf("2026-03-01T12:%02d:00Z", minute)
	return fmt.Sprintf(`{"action":"edited","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":%q,"updated_at":%q,`+
		`"milestone":{"number":1,"title":"v1","state":"open","open_issues":1,"closed_issues":%d,"updated_at":%q}}}`, title, at, closed, at)
}

const release = `{"action":"published","repository":{"full_name":"octo/app"},"release":{"tag_name":"v1","published_at":"2026-03-01T12:00:00Z"}}`

// wantState compares what the service holds of the issue and its milestone.
func (s *service) wantState(title string, progress float64) {
	s.t.Helper()
	for _, m := range items[memory.Memory](s, memory.Prefix) {
		if m.Title != title {
			s.t.Errorf("title %q, want %q", m.Title, title)
		}
	}
	for _, g := range items[goal.Goal](s, goal.Prefix) {
		if g.Progress != progress {
			s.t.Errorf("progress %v, want %v", g.Progress, progress)
		}
	}
}

// TestReceive_Replayed recognises a captured body of GitHub's under a new arrival id, because the signature does not cover
// the id.
func TestReceive_Replayed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	github := func(id, event, body string) int {
		t.Helper()
		return s.send("github", githubSecret, id, body, "X-GitHub-Event", event).Status
	}
	first, second := githubIssue("Old", 1, 0), githubIssue("New", 2, 1)
	for _, step := range []struct {
		name, id, event, body string
		want                  int
	}{
		{"an issue", "d1", "issues", first, 202},
		{"its edit", "d2", "issues", second, 202},
		{"the first arrival replayed", "d3", "issues", first, 200},
		{"the edit repeated", "d2", "issues", second, 200},
		{"a release", "d4", "release", release, 202},
		{"the release replayed", "d5", "release", release, 200},
	} {
		if got := github(step.id, step.event, step.body); got != step.want {
			t.Errorf("%s: status = %d, want %d", step.name, got, step.want)
		}
	}
	s.wantState("New", 0.5)
	s.wantItems(timeline.Prefix, 1)
}

// TestReceive_Replayed_Late changes nothing for a body that is replayed after its receipt has expired: an issue and its
// milestone are older than what is stored, a release is known.
func TestReceive_Replayed_Late(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.clock.Advance(-8 * 24 * time.Hour)
	s.certified()
	s.send("github", githubSecret, "d1", githubIssue("Old", 1, 0), "X-GitHub-Event", "issues").Want(202)
	s.send("github", githubSecret, "d2", githubIssue("New", 2, 1), "X-GitHub-Event", "issues").Want(202)
	s.send("github", githubSecret, "d3", release, "X-GitHub-Event", "release").Want(202)
	s.clock.Advance(8 * 24 * time.Hour)
	late := s.sent(s.send("github", githubSecret, "d4", githubIssue("Old", 1, 0), "X-GitHub-Event", "issues"), 202)
	s.wantReceipt(late, "memory.upsert permitted unchanged", "goal.update permitted unchanged")
	s.wantState("New", 0.5)
	late = s.sent(s.send("github", githubSecret, "d5", release, "X-GitHub-Event", "release"), 202)
	s.wantReceipt(late, "timeline.note permitted unchanged")
	s.wantItems(timeline.Prefix, 1)
	same := s.sent(s.send("github", githubSecret, "d6", githubIssue("Newer", 2, 1), "X-GitHub-Event", "issues"), 202)
	s.wantReceipt(same, "memory.upsert permitted updated", "goal.update permitted unchanged") // GitHub's times are whole seconds
}

// TestReceive_SandboxedRepeats answers a repeat in the sandbox like the first arrival. Certified, the same arrival takes effect
// once.
func TestReceive_SandboxedRepeats(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("github", func(i *integration.Integration) { i.State, i.Certification = integration.Sandbox, nil })
	send := func(id string, status int) receipt {
		t.Helper()
		return s.sent(s.send("github", githubSecret, id, release, "X-GitHub-Event", "release"), status)
	}
	s.wantReceipt(send("d1", 202), "sandboxed", "timeline.note permitted created")
	s.wantReceipt(send("d2", 202), "sandboxed", "timeline.note permitted created")
	s.wantVerdicts(true, policy.Permitted)
	s.integrations("POST", "/github/certification", nil).Want(200)
	s.wantReceipt(send("d3", 202), "timeline.note permitted created")
	s.wantReceipt(send("d4", 200), "duplicate")
	s.wantItems(timeline.Prefix, 1)
}
