package inbound_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/testkit/errtest"
)

const denyMemories = `forbid (principal, action == Action::"memory.upsert", resource);`

// redeliver sends the same body of GitHub's under another id, as its button Redeliver does.
func (s *service) redeliver(event, body string, status int) receipt {
	s.t.Helper()
	return s.sent(s.send("github", githubSecret, "again", body, "X-GitHub-Event", event), status)
}

// wantEffect checks what an answer says of the effect: the reason why it has no effect, or "".
func (s *service) wantEffect(r receipt, reason string) {
	s.t.Helper()
	effect := "none"
	if reason == "" {
		effect = ""
	}
	if r.Effect != effect {
		s.t.Errorf("effect %q, want %q", r.Effect, effect)
	}
	if r.Reason != reason {
		s.t.Errorf("reason %q, want %q", r.Reason, reason)
	}
}

// TestRedelivery_Denied decides again on what the policies denied. Under the same policies the answer is the same, and nothing is
// written. Once the policies permit it, it takes effect once.
func TestRedelivery_Denied(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.govern(denyMemories)
	body := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug"}}`
	first := s.redeliver("issues", body, 202)
	s.wantReceipt(first, "memory.upsert denied refused")
	s.wantEffect(first, "the policies denied every action")
	s.commits.take()
	again := s.redeliver("issues", body, 202)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("answer to the redelivery differs (-first +again):\n%s", diff)
	}
	s.wantCommits(0)
	s.wantItems(timeline.Prefix, 1)
	s.govern(`permit (principal, action, resource);`)
	now := s.redeliver("issues", body, 202)
	s.wantReceipt(now, "memory.upsert permitted created")
	s.wantEffect(now, "")
	repeat := s.redeliver("issues", body, 200)
	s.wantReceipt(repeat, "duplicate")
	s.wantEffect(repeat, "it was received before and took effect then")
	s.wantItems(memory.Prefix, 1)
}

// TestRedelivery_Partly carries out what was denied at first, and nothing twice.
func TestRedelivery_Partly(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	rules := `{"rules":[{"when":"true","action":"timeline.note","with":{"title":".item.title"},"continue":true},` +
		`{"when":"true","action":"memory.upsert","with":{"externalId":".item.title","title":".item.title"}}]}`
	s.integrations("PUT", "/webhook/mapping", json.RawMessage(rules)).Want(200)
	s.govern(denyMemories)
	send := func(status int) receipt {
		t.Helper()
		return s.sent(s.send("webhook", secret, "d1", `{"title":"Moved"}`), status)
	}
	first := send(202)
	s.wantReceipt(first, "timeline.note permitted created", "memory.upsert denied refused")
	s.wantEffect(first, "")
	notes := func() (titles []string) {
		for _, e := range items[timeline.Entry](s, timeline.Prefix) {
			if e.Kind == timeline.Note {
				titles = append(titles, e.Title)
			}
		}
		return titles
	}
	s.wantReceipt(send(202), "timeline.note permitted unchanged", "memory.upsert denied refused")
	s.govern(`permit (principal, action, resource);`)
	now := send(202)
	s.wantReceipt(now, "timeline.note permitted unchanged", "memory.upsert permitted created")
	if got, want := now.Results[0].DecisionID, first.Results[0].DecisionID; got != want {
		t.Errorf("decision on the note = %s, want the one that permitted it, %s", got, want)
	}
	s.wantReceipt(send(200), "duplicate")
	if diff := cmp.Diff([]string{"Moved"}, notes()); diff != "" {
		t.Errorf("notes differ (-want +got):\n%s", diff)
	}
	s.wantItems(memory.Prefix, 1)
}

// TestRedelivery_Mapping maps again what no rule matched.
func TestRedelivery_Mapping(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	body := `{"action":"started","repository":{"full_name":"octo/app"},"starred_at":"2026-03-01T12:00:00Z"}`
	none := s.redeliver("watch", body, 202)
	s.wantReceipt(none)
	s.wantEffect(none, "no rule of the mapping matches")
	s.wantReceipt(s.redeliver("watch", body, 202))
	rules := `{"rules":[{"when":".payload.starred_at","action":"timeline.note","with":{"title":"\"A star\""}}]}`
	s.integrations("PUT", "/github/mapping", json.RawMessage(rules)).Want(200)
	s.wantReceipt(s.redeliver("watch", body, 202), "timeline.note permitted created")
	s.wantReceipt(s.redeliver("watch", body, 200), "duplicate")
	s.wantItems(timeline.Prefix, 1)
}

// TestRedelivery_Approval shows the approval that waits. Once the action was carried out, the arrival is a repeat.
func TestRedelivery_Approval(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.govern(askForAll)
	first := s.redeliver("release", release, 202)
	s.wantReceipt(first, "timeline.note needs-approval pending")
	s.wantEffect(first, "")
	s.commits.take()
	if diff := cmp.Diff(first, s.redeliver("release", release, 202)); diff != "" {
		t.Errorf("answer to the redelivery differs (-first +again):\n%s", diff)
	}
	s.wantCommits(0)
	settle := func(state approval.State, outcome string) {
		t.Helper()
		var a approval.Approval
		id := items[approval.Approval](s, approval.Prefix)[len(items[approval.Approval](s, approval.Prefix))-1].ID
		item, err := s.company().Get(t.Context(), approval.Key(id), &a)
		errtest.Must(t, err)
		ended := a.End(state, approval.Answer{At: s.clock.Now(), Outcome: outcome})
		ops, err := ended.Settle(t.Context(), s.company(), item.Version)
		errtest.Must(t, err)
		errtest.Must(t, s.company().Commit(t.Context(), ops...))
	}
	settle(approval.Expired, "")
	s.clock.Advance(time.Second)
	s.wantReceipt(s.redeliver("release", release, 202), "timeline.note needs-approval pending")
	s.wantItems(approval.Prefix, 2)
	settle(approval.Approved, "created")
	s.wantReceipt(s.redeliver("release", release, 200), "duplicate")
	s.wantItems(approval.Prefix, 2)
}

// TestRedelivery_Suspended takes up what was refused while the company was suspended or the integration disabled.
func TestRedelivery_Suspended(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	body := githubIssue("Bug", 1, 0)
	s.edit("github", func(i *integration.Integration) { i.Suspended = true })
	s.redeliver("issues", body, 403)
	s.edit("github", func(i *integration.Integration) { i.Suspended, i.Enabled = false, false })
	s.redeliver("issues", body, 409)
	s.edit("github", func(i *integration.Integration) { i.Enabled = true })
	s.wantReceipt(s.redeliver("issues", body, 202), "memory.upsert permitted created", "goal.update permitted created")
	s.wantReceipt(s.redeliver("issues", body, 200), "duplicate")
}

// TestRedelivery_Incarnation takes up what was received by an integration that was deleted and configured again, and shows it
// neither in the inbox nor in the counts of the new one.
func TestRedelivery_Incarnation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	github := map[string]any{"repository": "octo/app", "signingSecret": githubSecret}
	s.configure("github", github)
	body := githubIssue("Bug", 1, 0)
	s.redeliver("issues", body, 202)
	former := s.inbox("github")
	if len(former) != 1 {
		t.Fatalf("%d arrivals in the inbox, want 1", len(former))
	}
	s.send("github", "another secret", "d1", body, "X-GitHub-Event", "issues").Want(401)
	s.integrations("DELETE", "/github", nil).Want(204)
	if got := len(s.inbox("github")); got != 1 {
		t.Errorf("%d arrivals in the inbox of the deleted integration, want 1", got)
	}
	s.configure("github", github)
	if got := len(s.inbox("github")); got != 0 {
		t.Errorf("%d arrivals of the former integration in the inbox, want none", got)
	}
	s.integrations("GET", "/github/inbox/"+former[0].ID, nil).Want(404)
	s.wantRefusals("github", map[string]int64{}, map[string]int64{})
	var report struct {
		Checks []struct{ ID, Status string }
	}
	s.integrations("POST", "/github/certification", nil).Want(200).JSON(&report)
	for _, c := range report.Checks {
		if c.ID == "seen-from-outside" && c.Status != string(finding.Warn) {
			t.Errorf("check %s = %s, want %s: another integration has seen it", c.ID, c.Status, finding.Warn)
		}
	}
	s.wantReceipt(s.redeliver("issues", body, 202), "memory.upsert permitted created", "goal.update permitted created")
	s.integrations("DELETE", "/github", nil).Want(204)
	s.clock.Advance(time.Second)
	s.configure("github", github)
	s.integrations("POST", "/github/certification", nil).Want(200)
	s.wantReceipt(s.redeliver("issues", body, 202), "memory.upsert permitted created", "goal.update permitted created")
	if got := len(items[memory.Memory](s, memory.Prefix)); got != 2 {
		t.Errorf("%d memories, want that of the former integration and that of the new one", got)
	}
}

// TestRedelivery_Reasons says why an accepted arrival takes no effect, and counts it once.
func TestRedelivery_Reasons(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.redeliver("issues", githubIssue("New", 5, 0), 202)
	for _, tt := range []struct{ event, body, reason string }{
		{"issues", githubIssue("Old", 1, 0), "it is older than what is stored"},
		{"issues", strings.Replace(githubIssue("New", 5, 0), "edited", "opened", 1), "it changes nothing that is stored"},
		{"issues", strings.Replace(githubIssue("New", 6, 0), "edited", "deleted", 1), "the mapping leaves it out by its expression only"},
		{"watch", `{"repository":{"full_name":"octo/app"}}`, "no rule of the mapping matches"},
	} {
		for range 2 {
			s.wantEffect(s.redeliver(tt.event, tt.body, 202), tt.reason)
		}
		stored, err := arrival.Load(t.Context(), s.company(), s.owner("github"))
		errtest.Must(t, err)
		if got := stored.Ineffective[tt.reason].Since(time.Time{}); got != 1 {
			t.Errorf("%q counted %d times, want once", tt.reason, got)
		}
	}
	s.wantVerdicts(false, policy.Permitted, policy.Permitted, policy.Permitted, policy.Permitted, policy.Permitted, policy.Permitted)
}
