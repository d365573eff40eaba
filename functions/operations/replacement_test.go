package operations_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// guarded puts each loosening of the policies under approval.
const guarded = `@approval("another person agrees") forbid (principal is User, action == Action::"policies.replace", resource) when { resource.loosens } unless { context.approval == context.digest };`

func replaced(h *webtest.Harness, bearer string, status int, all ...map[string]any) (out operations.PolicySet) {
	h.Do("PUT", path(h, "/policies"), bearer, set(all...), "If-Match", "*").Want(status).JSON(&out)
	return out
}

func ids(all []policy.Statement) string {
	var out []string
	for _, s := range all {
		out = append(out, s.ID)
	}
	return strings.Join(out, " ")
}

// TestReplacement_Approved changes the policies only when another person has approved that exact replacement.
func TestReplacement_Approved(t *testing.T) {
	t.Parallel()
	h := office(t)
	olga := h.UserToken(h.A.ID, joined(t, h, "olga@acme.test", user.Operator).ID, user.Operator)
	h.Do("PATCH", path(h, "/users/"+h.A.UserID), h.A.Token, object{"name": "Ada Lovelace"}).Want(200)
	one, two, more := enforced("guarded", guarded), enforced("closing", closing), enforced("notes", `forbid (principal, action == Action::"timeline.note", resource);`)
	replaced(h, h.A.Token, 200, one, two)
	replaced(h, h.A.Token, 200, one, two, more) // loosens nothing

	asked := replaced(h, h.A.Token, 202, two)
	if got, want := ids(asked.Policies), "guarded closing notes"; got != want {
		t.Errorf("policies in the answer = %q, want those in force, %q", got, want)
	}
	if got, want := asked.Approval.PrincipalName, "Ada Lovelace"; got != want {
		t.Errorf("the approval is asked for by %q, want %q", got, want)
	}
	if again := replaced(h, h.A.Token, 202, two); again.Approval.ID != asked.Approval.ID {
		t.Errorf("a second request has the approval %s, want that of the first, %s", again.Approval.ID, asked.Approval.ID)
	}
	approve := path(h, "/approvals/"+asked.Approval.ID+"/approve")
	h.Do("POST", approve, h.A.Token, nil).WantProblem(403, "forbidden")
	var ended operations.ApprovedAction
	h.Do("POST", approve, olga, nil).Want(200).JSON(&ended)
	if ended.State != approval.Approved {
		t.Errorf("state = %s, want approved", ended.State)
	}
	if ended.Decision.Verdict != policy.Permitted {
		t.Errorf("verdict = %s, want permitted", ended.Decision.Verdict)
	}
	var now operations.PolicySet
	h.Do("GET", path(h, "/policies"), h.A.Token, nil).Want(200).JSON(&now)
	if got, want := ids(now.Policies), "closing"; got != want {
		t.Errorf("policies = %q, want %q", got, want)
	}
	if now.UpdatedBy != h.A.UserID {
		t.Errorf("updated by %s, want the user who asked, %s", now.UpdatedBy, h.A.UserID)
	}
	const told = "Policies were loosened: removed guarded, notes"
	if diff := cmp.Diff([]string{told}, titles(t, store.For(h.Store, h.A.ID))); diff != "" {
		t.Errorf("titles differ (-want +got):\n%s", diff)
	}
	replaced(h, h.A.Token, 200)
}

// TestReplacement_Ended leaves the policies as they are after a rejection, and refuses the same replacement for a day.
func TestReplacement_Ended(t *testing.T) {
	t.Parallel()
	h := office(t)
	olga := h.UserToken(h.A.ID, joined(t, h, "olga@acme.test", user.Operator).ID, user.Operator)
	one, two := enforced("guarded", guarded), enforced("closing", closing)
	replaced(h, h.A.Token, 200, one, two)
	rejected := replaced(h, h.A.Token, 202, two)
	h.Do("POST", path(h, "/approvals/"+rejected.Approval.ID+"/reject"), olga, nil).Want(200)
	h.Do("PUT", path(h, "/policies"), h.A.Token, set(two), "If-Match", "*").WantProblem(409, "conflict")
	withdrawn := replaced(h, h.A.Token, 202, one)
	h.Do("POST", path(h, "/approvals/"+withdrawn.Approval.ID+"/withdraw"), h.A.Token, nil).Want(200)
	var now operations.PolicySet
	h.Do("GET", path(h, "/policies"), h.A.Token, nil).Want(200).JSON(&now)
	if got, want := ids(now.Policies), "guarded closing"; got != want {
		t.Errorf("policies = %q, want %q", got, want)
	}
}

// TestReplacement_Meanwhile refuses an approved replacement of policies that have changed since it was asked for.
func TestReplacement_Meanwhile(t *testing.T) {
	t.Parallel()
	h := office(t)
	olga := h.UserToken(h.A.ID, joined(t, h, "olga@acme.test", user.Operator).ID, user.Operator)
	one, two := enforced("guarded", guarded), enforced("closing", closing)
	replaced(h, h.A.Token, 200, one)
	asked := replaced(h, h.A.Token, 202)
	replaced(h, h.A.Token, 200, one, two)
	h.Do("POST", path(h, "/approvals/"+asked.Approval.ID+"/approve"), olga, nil).WantProblem(409, "conflict")
	var now operations.PolicySet
	h.Do("GET", path(h, "/policies"), h.A.Token, nil).Want(200).JSON(&now)
	if got, want := ids(now.Policies), "guarded closing"; got != want {
		t.Errorf("policies = %q, want %q", got, want)
	}
}

// TestReplacement_Unlocked lets a company replace policies that forbid everything, also those that this release cannot read.
func TestReplacement_Unlocked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("frozen", frozen))
	d.govern()
	d.store(policy.Statement{ID: "old", Mode: policy.Enforce, Text: "forbid anything"}, policy.Statement{ID: "frozen", Mode: policy.Enforce, Text: frozen})
	d.govern()
}

// TestReplacement_LogOnly records that a log-only policy would ask.
func TestReplacement_LogOnly(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	trying := enforced("guarded", strings.Replace(guarded, "when { resource.loosens } ", "", 1))
	trying["mode"] = "log-only"
	d.govern(trying)
	d.wantItems(policy.Prefix, 0)
	d.govern()
	d.wantItems(policy.Prefix, 1)
}

// TestPolicies_Loosened_Permits tells of a permit that widens what is permitted, and neither of another permit nor of a removed permit.
func TestPolicies_Loosened_Permits(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const widens, wider = `permit (principal, action == Action::"sync.remove", resource) when { resource.total < 100 };`, `permit (principal, action == Action::"sync.remove", resource);`
	logOnly := enforced("small", widens)
	logOnly["mode"] = "log-only"
	d.govern(logOnly, enforced("goals", `permit (principal, action == Action::"goal.update", resource);`))
	d.govern(enforced("small", widens), enforced("all", `permit (principal, action, resource);`))
	d.govern(enforced("small", wider))
	d.govern()
	want := []string{"Policies were loosened: added small, all", "Policies were loosened: added small"}
	if diff := cmp.Diff(want, titles(t, d.c)); diff != "" {
		t.Errorf("titles differ (-want +got):\n%s", diff)
	}
}

func titles(t *testing.T, c store.Company) (out []string) {
	t.Helper()
	entries, err := c.Query(t.Context(), store.Query{Prefix: timeline.Prefix})
	errtest.Must(t, err)
	for _, item := range entries.Items {
		var e timeline.Entry
		errtest.Must(t, json.Unmarshal(item.Body, &e))
		out = append(out, e.Title)
	}
	return out
}
