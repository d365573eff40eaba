package operations_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/policyengine"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// desk serves the group to a company whose integration github is certified.
type desk struct {
	*webtest.Harness
	t      *testing.T
	clock  *clocktest.Clock
	engine *policyengine.Engine
	c      store.Company
}

func newDesk(t *testing.T, edit ...func(*operations.Deps)) *desk {
	t.Helper()
	h, clock := webtest.New(t), clocktest.At(time.Now().UTC().Truncate(time.Millisecond))
	d := &desk{h, t, clock, policyengine.New(clock.Now), store.For(h.Store, h.A.ID)}
	deps := operations.Deps{Engine: d.engine, Checker: policycheck.New(), Now: clock.Now}
	for _, change := range edit {
		change(&deps)
	}
	deps.Store, deps.Vault = h.Store, h.Vault
	operations.Register(h.API(), deps)
	now := clock.Now()
	errtest.Must(t, d.c.Commit(t.Context(), d.c.Create(integration.Key("github"), integration.Entity, integration.Integration{
		Provider: "github", Kind: "github", State: integration.Certified, Enabled: true, Config: json.RawMessage(`{}`),
		Permissions:   []integration.Port{integration.InboundReceive, integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote},
		Certification: &integration.Certification{PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor)}, CreatedAt: now, UpdatedAt: now,
	})))
	return d
}

// govern replaces the company's policies through the API.
func (d *desk) govern(all ...map[string]any) {
	d.t.Helper()
	d.Do("PUT", path(d.Harness, "/policies"), d.A.Token, set(all...), "If-Match", "*").Want(200)
}

// store replaces the company's policies without a check, as an older release may have done.
func (d *desk) store(all ...policy.Statement) {
	d.t.Helper()
	_, version, err := policy.Load(d.t.Context(), d.c)
	errtest.Must(d.t, err)
	errtest.Must(d.t, d.c.Commit(d.t.Context(), policy.Save(d.c, version, policy.Stored{Policies: all, UpdatedAt: d.clock.Now()})))
}

func (d *desk) edit(change func(*integration.Integration)) {
	d.t.Helper()
	i, version, err := integration.Load(d.t.Context(), d.c, "github")
	errtest.Must(d.t, err)
	change(&i)
	errtest.Must(d.t, d.c.Commit(d.t.Context(), d.c.Replace(integration.Key("github"), integration.Entity, version, i)))
}

// ask plans an action as the intake does, and returns the id of the approval that it needs.
func (d *desk) ask(a connector.Action) string {
	d.t.Helper()
	i, _, err := integration.Load(d.t.Context(), d.c, "github")
	errtest.Must(d.t, err)
	planned, err := (&intake.Planner{Company: d.c, Integration: i, Engine: d.engine, Now: d.clock.Now()}).Plan(d.t.Context(), a)
	errtest.Must(d.t, err)
	if planned.ApprovalID == "" {
		d.t.Fatalf("verdict = %s without an approval, want one", planned.Decision.Verdict)
	}
	if len(planned.Ops) > 0 {
		errtest.Must(d.t, d.c.Commit(d.t.Context(), planned.Ops...))
	}
	return planned.ApprovalID
}

func closed(externalID string) connector.Action {
	return connector.Action{Port: integration.GoalUpdate, Goal: &goal.Draft{ExternalID: externalID, Title: "Ship", State: goal.Closed, Progress: 1}}
}

func (d *desk) decide(approvalID, how string) *webtest.Response {
	d.t.Helper()
	return d.Do("POST", path(d.Harness, "/approvals/"+approvalID+"/"+how), d.A.Token, nil)
}

func (d *desk) wantItems(prefix string, want int) {
	d.t.Helper()
	page, err := d.c.Query(d.t.Context(), store.Query{Prefix: prefix})
	errtest.Must(d.t, err)
	if got := len(page.Items); got != want {
		d.t.Errorf("%d items under %s, want %d", got, prefix, want)
	}
}

// outcome summarises an approval as a client sees it.
func (d *desk) wantState(approvalID, want string) {
	d.t.Helper()
	var a approval.Approval
	d.Do("GET", path(d.Harness, "/approvals/"+approvalID), d.A.Token, nil).Want(200).JSON(&a)
	got := string(a.State)
	if a.Answer != nil {
		got += fmt.Sprintf(" by %s: %s %s", a.Answer.By.Type, a.Answer.Verdict, a.Answer.Outcome)
	}
	if got != want {
		d.t.Errorf("approval = %q, want %q", got, want)
	}
}

// An approved action is carried out once, under a new decision.
func TestApprovals_Approve(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	id := d.ask(closed("1"))
	d.wantItems(goal.Prefix, 0)
	var got operations.ApprovedAction
	d.decide(id, "approve").Want(200).JSON(&got)
	if got.Decision.Verdict != policy.Permitted {
		t.Errorf("verdict = %s, want %s", got.Decision.Verdict, policy.Permitted)
	}
	if got.Answer.By.ID != d.A.UserID {
		t.Errorf("decided by %q, want %q", got.Answer.By.ID, d.A.UserID)
	}
	d.wantState(id, "approved by user: permitted created")
	d.wantItems(goal.Prefix, 1)
	d.wantItems(policy.Prefix, 1)
	d.decide(id, "approve").WantProblem(409, "approval-decided")
	d.decide(id, "reject").WantProblem(409, "approval-decided")
	d.wantItems(policy.Prefix, 1)
	d.decide("unknown", "approve").WantProblem(404, "not-found")
	d.Do("POST", path(d.Harness, "/approvals/"+id+"/approve"), d.Token(d.A.ID, "operations:read"), nil).WantProblem(403, "insufficient-scope")
}

// The policies at the time of the approval decide. An approval is used even if they deny.
func TestApprovals_Denied(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*desk){
		"another forbid":         func(d *desk) { d.govern(enforced("closing", closing), enforced("frozen", frozen)) },
		"a narrowed permission":  func(d *desk) { d.edit(func(i *integration.Integration) { i.Permissions = i.Permissions[:2] }) },
		"a disabled integration": func(d *desk) { d.edit(func(i *integration.Integration) { i.Enabled = false }) },
		"a deleted integration": func(d *desk) {
			errtest.Must(t, d.c.Commit(t.Context(), d.c.Delete(integration.Key("github"), integration.Entity, 1)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.govern(enforced("closing", closing))
			id := d.ask(closed("1"))
			change(d)
			var got operations.ApprovedAction
			d.decide(id, "approve").Want(200).JSON(&got)
			if got.Decision.Verdict != policy.Denied {
				t.Errorf("verdict = %s, want %s", got.Decision.Verdict, policy.Denied)
			}
			d.wantState(id, "approved by user: denied refused")
			d.wantItems(goal.Prefix, 0)
			d.wantItems(timeline.Prefix, 1)
			d.decide(id, "approve").WantProblem(409, "approval-decided")
		})
	}
}

// Policies that no longer ask for an approval permit the action without it.
func TestApprovals_Unneeded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	id := d.ask(closed("1"))
	d.govern()
	d.decide(id, "approve").Want(200)
	d.wantState(id, "approved by user: permitted created")
}

// In the sandbox no action takes effect, so its approval keeps waiting.
func TestApprovals_Sandbox(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	id := d.ask(closed("1"))
	d.edit(func(i *integration.Integration) { *i = i.Sandboxed(integration.SandboxedByChange, d.clock.Now()) })
	d.decide(id, "approve").WantProblem(409, "conflict")
	d.wantState(id, "pending")
}

// TestApprovals_Replaced carries nothing out that an integration asked for which was deleted. The integration that has its name now asks
// for an approval of its own.
func TestApprovals_Replaced(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	former := d.ask(closed("1"))
	d.clock.Advance(time.Second)
	d.edit(func(i *integration.Integration) { i.Incarnation, i.CreatedAt = id.New(), d.clock.Now() })
	d.decide(former, "approve").WantProblem(409, "conflict")
	if own := d.ask(closed("1")); own == former {
		t.Errorf("the new integration waits for the approval %s of the former one, want its own", own)
	}
}

// The user who asked for an action does not decide on it.
func TestApprovals_Own(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	store := func(user string) string {
		made := policy.Decision{ID: user, At: d.clock.Now(), ActionDigest: user, Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: "goal.update"}
		a := approval.New(made, json.RawMessage(`{}`), "Ship", timeline.Reference{Type: "user", ID: user})
		errtest.Must(t, d.c.Commit(t.Context(), a.Request(d.c, 0)...))
		return a.ID
	}
	own, other := store(d.A.UserID), store("another")
	d.decide(own, "approve").WantProblem(403, "forbidden")
	d.decide(own, "reject").WantProblem(403, "forbidden")
	d.wantState(own, "pending")
	d.decide(other, "reject").Want(200)
}

// A rejected action is not asked for again until the approval would have expired.
func TestApprovals_Reject(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	id := d.ask(closed("1"))
	d.decide(id, "reject").Want(200)
	d.wantState(id, "rejected by user:  ")
	d.wantItems(goal.Prefix, 0)
	if again := d.ask(closed("1")); again != id {
		t.Errorf("approval of a further request = %s, want the rejected one, %s", again, id)
	}
	d.clock.Advance(approval.Waits)
	if again := d.ask(closed("1")); again == id {
		t.Error("a day later the rejected approval still stands")
	}
}

func TestApprovals_Expired(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	id := d.ask(closed("1"))
	d.clock.Advance(approval.Waits - 1)
	d.wantState(id, "pending")
	d.clock.Advance(1)
	d.wantState(id, "expired")
	d.decide(id, "approve").WantProblem(409, "approval-decided")
	d.wantItems(goal.Prefix, 0)
}

func TestApprovals_List(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	var ids []string
	for n := range 4 {
		ids = append(ids, d.ask(closed(fmt.Sprint(n))))
		d.clock.Advance(time.Hour)
	}
	d.decide(ids[1], "approve").Want(200)
	d.decide(ids[2], "reject").Want(200)
	d.clock.Advance(approval.Waits - 4*time.Hour)
	for query, want := range map[string][]string{
		"": {ids[3], ids[2], ids[1], ids[0]}, "?state=pending": {ids[3]}, "?state=approved": {ids[1]}, "?state=rejected": {ids[2]}, "?state=expired": {ids[0]},
	} {
		var got struct{ Items []approval.Approval }
		d.Do("GET", path(d.Harness, "/approvals"+query), d.A.Token, nil).Want(200).JSON(&got)
		var listed []string
		for _, a := range got.Items {
			listed = append(listed, a.ID)
		}
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("approvals for %q differ (-want +got):\n%s", query, diff)
		}
	}
	d.Do("GET", "/companies/"+d.B.ID+"/operations/approvals/"+ids[0], d.B.Token, nil).WantProblem(404, "not-found")
}

// Of concurrent answers to an approval exactly one takes effect, while other writers change what the action is about.
func TestApprovals_Concurrent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("notes", `@approval("agree") forbid (principal, action == Action::"timeline.note", resource) unless { context.approval == context.digest };`))
	for round := range 5 {
		note := connector.Action{Port: integration.TimelineNote, Note: &connector.NoteDraft{Title: fmt.Sprint("note ", round)}}
		id := d.ask(note)
		var wait sync.WaitGroup
		var mu sync.Mutex
		answers := map[int]int{}
		for n := range 12 {
			how := []string{"approve", "approve", "reject"}[n%3]
			wait.Go(func() {
				status := d.decide(id, how).Status
				mu.Lock()
				defer mu.Unlock()
				answers[status]++
			})
		}
		wait.Go(func() { d.edit(func(i *integration.Integration) { i.UpdatedAt = d.clock.Now() }) })
		wait.Wait()
		if diff := cmp.Diff(map[int]int{200: 1, 409: 11}, answers); diff != "" {
			t.Errorf("round %d: answers differ (-want +got):\n%s", round, diff)
		}
		var a approval.Approval
		_, err := d.c.Get(t.Context(), approval.Key(id), &a)
		errtest.Must(t, err)
		want := 0
		if a.State == approval.Approved {
			want = 1
		}
		d.wantNotes(fmt.Sprint("note ", round), want)
	}
}

func (d *desk) wantNotes(title string, want int) {
	d.t.Helper()
	page, err := d.c.Query(d.t.Context(), store.Query{Prefix: timeline.Prefix})
	errtest.Must(d.t, err)
	got := 0
	for _, item := range page.Items {
		var e timeline.Entry
		errtest.Must(d.t, item.Decode(&e))
		if e.Title == title {
			got++
		}
	}
	if got != want {
		d.t.Errorf("%d notes %q, want %d", got, title, want)
	}
}
