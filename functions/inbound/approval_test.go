package inbound_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// govern stores company A's policies, and waits until they hold.
func (s *service) govern(text string) {
	s.t.Helper()
	_, version, err := policy.Load(s.t.Context(), s.company())
	errtest.Must(s.t, err)
	errtest.Must(s.t, s.company().Commit(s.t.Context(), policy.Save(s.company(), version, policy.Stored{
		Policies: []policy.Statement{{ID: "own", Mode: policy.Enforce, Text: text}},
	})))
	s.clock.Advance(policyengine.Fresh)
}

const askForAll = `@approval("agree") forbid (principal, action, resource) unless { context.approval == context.digest };`

// TestReceive_Approval stores an approval for each different action that needs one, in the arrival's commit.
func TestReceive_Approval(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.govern(askForAll)
	s.commits.take()
	const body = `{"type":"memory.upsert","data":[{"externalId":"1","title":"a"},{"externalId":"2","title":"b"},{"externalId":"1","title":"a"}]}`
	const pending = "memory.upsert needs-approval pending"
	var got receipt
	s.send("webhook", secret, "d1", body).Want(202).JSON(&got)
	s.wantReceipt(got, pending, pending, pending)
	s.wantCommits(1)
	s.wantItems(approval.Prefix, 2)
	s.wantItems(memory.Prefix, 0)
	s.wantItems(timeline.Prefix, 0)
	ids := []string{got.Results[0].ApprovalID, got.Results[1].ApprovalID}
	if third := got.Results[2].ApprovalID; third != ids[0] {
		t.Errorf("approval of the repeated action = %s, want that of the first, %s", third, ids[0])
	}
	for n, a := range items[approval.Approval](s, approval.Prefix) {
		if !slices.Contains(ids, a.ID) {
			t.Errorf("approval %d has the id %s, want one of %q", n, a.ID, ids)
		}
		if a.State != approval.Pending {
			t.Errorf("approval %d is %s, want %s", n, a.State, approval.Pending)
		}
	}
	var again receipt
	s.send("webhook", secret, "d2", body).Want(202).JSON(&again)
	if id := again.Results[0].ApprovalID; id != ids[0] {
		t.Errorf("approval of another arrival = %s, want the pending one, %s", id, ids[0])
	}
	s.wantItems(approval.Prefix, 2)
}

// TestReceive_ApprovalsMost receives as many actions as an arrival may have, each with an approval.
func TestReceive_ApprovalsMost(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.govern(askForAll)
	var all []string
	for n := range connector.MaxActions {
		all = append(all, fmt.Sprintf(`{"externalId":"%d","title":"a"}`, n))
	}
	s.send("webhook", secret, "d1", `{"type":"memory.upsert","data":[`+strings.Join(all, ",")+`]}`).Want(202)
	s.wantItems(approval.Prefix, connector.MaxActions)
	page, err := s.company().Query(t.Context(), store.Query{Prefix: policy.Prefix})
	errtest.Must(t, err)
	var stored policy.Decisions
	errtest.Must(t, page.Items[0].Decode(&stored))
	if got := len(stored.Others) + 1; got != connector.MaxActions {
		t.Errorf("%d decisions stored, want %d", got, connector.MaxActions)
	}
}

// TestReceive_SandboxApproval asks for no approval in the sandbox.
func TestReceive_SandboxApproval(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("webhook", func(i *integration.Integration) { *i = i.Sandboxed("configuration", s.clock.Now()) })
	s.govern(askForAll)
	got := s.sent(s.send("webhook", secret, "d1", upsert), 202)
	s.wantReceipt(got, "sandboxed", "memory.upsert needs-approval pending")
	if id := got.Results[0].ApprovalID; id != "" {
		t.Errorf("approval %s, want none", id)
	}
	s.wantItems(approval.Prefix, 0)
}

// TestReceive_Narrowed denies what the company's narrowed permissions leave out, although the connector asks for it.
func TestReceive_Narrowed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("github", map[string]any{
		"repository": "octo/app", "signingSecret": githubSecret, "permissions": []string{"inbound.receive", "goal.update"},
	})
	var report struct{ Passed bool }
	if s.integrations("POST", "/github/certification", nil).Want(200).JSON(&report); !report.Passed {
		t.Fatal("github was not certified, want it certified")
	}
	issue := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug","milestone":{"number":1,"title":"v1","state":"open"}}}`
	s.wantReceipt(s.sent(s.send("github", githubSecret, "g1", issue, "X-GitHub-Event", "issues"), 202),
		"memory.upsert denied refused", "goal.update permitted created")
}
