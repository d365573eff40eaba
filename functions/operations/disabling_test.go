package operations_test

import (
	"encoding/json"
	"testing"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/disabling"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/testkit/errtest"
)

// A person approves that the service disables an endpoint. Later, when the endpoint has changed, the same approval has no effect.
func TestApprovals_DisableEndpoint(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("look-first", `@approval("look first") forbid (principal is Service, action, resource) unless { context.approval == context.digest };`))
	d.failing()
	one := d.pending()
	d.decide(one, "approve").Want(200)
	d.wantState(one, "approved by user: permitted updated")
	if d.github().Enabled {
		t.Error("the endpoint is enabled after the approval, want it disabled")
	}
	d.edit(func(i *integration.Integration) { i.Enabled, i.Disabled = true, nil })
	d.failing()
	other := d.pending()
	d.edit(func(i *integration.Integration) { i.Config = json.RawMessage(`{"url":"https://example.com"}`) })
	d.decide(other, "approve").WantProblem(409, "conflict")
	if !d.github().Enabled {
		t.Error("the changed endpoint is disabled, want it enabled")
	}
}

func (d *desk) github() integration.Integration {
	d.t.Helper()
	i, _, err := integration.Load(d.t.Context(), d.c, "github")
	errtest.Must(d.t, err)
	return i
}

// failing asks the policy engine to disable the integration, as the courier does.
func (d *desk) failing() {
	d.t.Helper()
	i, version, err := integration.Load(d.t.Context(), d.c, "github")
	errtest.Must(d.t, err)
	planned, err := disabling.Case{Company: d.c, Integration: i, Version: version, Reason: integration.DisabledGone, Now: d.clock.Now()}.Plan(d.t.Context(), d.engine)
	errtest.Must(d.t, err)
	if planned.Decision.Verdict != policy.NeedsApproval {
		d.t.Fatalf("verdict = %s, want %s", planned.Decision.Verdict, policy.NeedsApproval)
	}
	errtest.Must(d.t, d.c.Commit(d.t.Context(), planned.Ops...))
}

// pending returns the id of the only approval that waits.
func (d *desk) pending() string {
	d.t.Helper()
	var page struct{ Items []approval.Approval }
	d.Do("GET", path(d.Harness, "/approvals?state=pending"), d.A.Token, nil).Want(200).JSON(&page)
	if len(page.Items) != 1 {
		d.t.Fatalf("%d approvals wait, want 1", len(page.Items))
	}
	return page.Items[0].ID
}
