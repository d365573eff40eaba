package disabling_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/disabling"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// desk holds a company with one endpoint.
type desk struct {
	t      *testing.T
	c      store.Company
	clock  *clocktest.Clock
	engine policy.Engine
}

func setup(t *testing.T, policies ...string) *desk {
	t.Helper()
	d := &desk{t: t, c: store.For(webtest.OpenStore(t), "a"), clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond))}
	d.engine = policyengine.New(d.clock.Now)
	ports := []integration.Port{integration.EventDeliver}
	errtest.Must(t, d.c.Commit(t.Context(), d.c.Create(integration.Key("webhook"), integration.Entity, integration.Integration{
		Provider: "webhook", Kind: "webhook", State: integration.Certified, Enabled: true, Permissions: ports, Config: json.RawMessage(`{}`),
		Certification: &integration.Certification{ExpiresAt: d.clock.Now().AddDate(0, 0, 90), Ports: ports},
	})))
	if len(policies) > 0 {
		d.store(policies...)
	}
	return d
}

// store replaces the company's policies, which decide from the next question on.
func (d *desk) store(texts ...string) {
	d.t.Helper()
	_, version, err := policy.Load(d.t.Context(), d.c)
	errtest.Must(d.t, err)
	var s policy.Stored
	for n, text := range texts {
		s.Policies = append(s.Policies, policy.Statement{ID: string(rune('a' + n)), Mode: policy.Enforce, Text: text})
	}
	errtest.Must(d.t, d.c.Commit(d.t.Context(), policy.Save(d.c, version, s)))
	d.clock.Advance(time.Minute)
}

func (d *desk) load() (integration.Integration, int64) {
	d.t.Helper()
	i, version, err := integration.Load(d.t.Context(), d.c, "webhook")
	errtest.Must(d.t, err)
	return i, version
}

// find decides on the endpoint as it is stored, and commits what follows.
func (d *desk) find(reason string) (disabling.Planned, error) {
	d.t.Helper()
	i, version := d.load()
	p, err := disabling.Case{Company: d.c, Integration: i, Version: version, Reason: reason, Now: d.clock.Now()}.Plan(d.t.Context(), d.engine)
	errtest.Must(d.t, err)
	if len(p.Ops) == 0 {
		return p, nil
	}
	return p, d.c.Commit(d.t.Context(), p.Ops...)
}

func (d *desk) decide(reason string) disabling.Planned {
	d.t.Helper()
	p, err := d.find(reason)
	errtest.Must(d.t, err)
	return p
}

// wantRecords checks how many decisions and entries of the timeline are stored.
func (d *desk) wantRecords(decisions, entries int) {
	d.t.Helper()
	for prefix, want := range map[string]int{policy.Prefix: decisions, timeline.Prefix: entries} {
		page, err := d.c.Query(d.t.Context(), store.Query{Prefix: prefix})
		errtest.Must(d.t, err)
		if got := len(page.Items); got != want {
			d.t.Errorf("%d items under %s, want %d", got, prefix, want)
		}
	}
}

func (d *desk) wantEnabled(want bool) {
	d.t.Helper()
	if i, _ := d.load(); i.Enabled != want {
		d.t.Errorf("enabled = %t, want %t", i.Enabled, want)
	}
}

const (
	never    = `@reason("fix it instead") forbid (principal is Service, action == Action::"endpoint.disable", resource == Endpoint::"webhook");`
	askFirst = `@approval("look first") forbid (principal, action == Action::"endpoint.disable", resource) unless { context.approval == context.digest };`
)

func TestCase_Plan(t *testing.T) {
	t.Parallel()
	for reason, state := range map[string]integration.State{
		integration.DisabledGone: integration.Certified, integration.DisabledFailing: integration.Sandbox,
	} {
		d := setup(t)
		p := d.decide(reason)
		i, _ := d.load()
		if diff := cmp.Diff(&integration.Disabled{Reason: reason, At: d.clock.Now()}, i.Disabled); diff != "" {
			t.Errorf("%s: disabling differs (-want +got):\n%s", reason, diff)
		}
		d.wantEnabled(false)
		if i.State != state {
			t.Errorf("%s: state = %s, want %s", reason, i.State, state)
		}
		var stored policy.Decision
		_, err := d.c.Get(t.Context(), policy.Prefix+p.Decision.ID, &stored)
		errtest.Must(t, err)
		want := policy.Decision{
			Verdict: policy.Permitted, Principal: timeline.Reference{Type: "service", ID: "orgops"}, Action: "endpoint.disable",
			Resource: timeline.Reference{Type: "integration", ID: "webhook"}, Policies: []string{"permit-service-actions"},
			Reasons: []string{"the service may do this by itself"}, At: d.clock.Now(),
		}
		if diff := cmp.Diff(want, stored, cmpopts.IgnoreFields(policy.Decision{}, "ID", "PolicySet")); diff != "" {
			t.Errorf("%s: decision differs (-want +got):\n%s", reason, diff)
		}
	}
}

// A refusal leaves the endpoint as it is. It is recorded once a day.
func TestCase_Plan_Denied(t *testing.T) {
	t.Parallel()
	d := setup(t, never)
	_, before := d.load()
	if got := d.decide(integration.DisabledFailing).Decision.Reasons; !cmp.Equal(got, []string{"fix it instead"}) {
		t.Errorf("reasons = %q, want the policy's", got)
	}
	d.wantEnabled(true)
	d.decide(integration.DisabledFailing)
	d.wantRecords(1, 1)
	d.clock.Advance(24 * time.Hour)
	d.decide(integration.DisabledFailing)
	d.wantRecords(2, 2)
	if _, version := d.load(); version != before {
		t.Errorf("version = %d, want %d, as before", version, before)
	}
	d.store()
	d.decide(integration.DisabledFailing)
	d.wantEnabled(false)
}

// Two processes that decide at once record one decision.
func TestCase_Plan_Concurrent(t *testing.T) {
	t.Parallel()
	for _, policies := range [][]string{nil, {never}, {askFirst}} {
		d := setup(t, policies...)
		i, version := d.load()
		c := disabling.Case{Company: d.c, Integration: i, Version: version, Reason: integration.DisabledGone, Now: d.clock.Now()}
		one, err := c.Plan(t.Context(), d.engine)
		errtest.Must(t, err)
		other, err := c.Plan(t.Context(), d.engine)
		errtest.Must(t, err)
		errtest.Must(t, d.c.Commit(t.Context(), one.Ops...))
		if err := d.c.Commit(t.Context(), other.Ops...); !errors.Is(err, store.ErrConflict) {
			t.Errorf("policies %q: err = %v, want %v", policies, err, store.ErrConflict)
		}
	}
}

type broken struct{}

func (broken) Decide(context.Context, store.Company, policy.Request) (policy.Decision, error) {
	return policy.Decision{}, errors.New("no policies")
}

// Without a verdict nothing is disabled, whether the engine fails or a policy of the company.
func TestCase_Plan_Errors(t *testing.T) {
	t.Parallel()
	tests := map[string]*desk{"the engine": setup(t), "a policy": setup(t, `permit (principal, action, resource) when { principal.kind == "webhook" };`)}
	tests["the engine"].engine = broken{}
	for name, d := range tests {
		if got := d.decide(integration.DisabledGone).Decision.Verdict; got != policy.Denied {
			t.Errorf("%s: verdict = %s, want %s", name, got, policy.Denied)
		}
		d.wantEnabled(true)
		d.wantRecords(1, 1)
	}
}

func (d *desk) approvals() []approval.Approval {
	d.t.Helper()
	page, err := d.c.Query(d.t.Context(), store.Query{Prefix: approval.Prefix})
	errtest.Must(d.t, err)
	all := make([]approval.Approval, len(page.Items))
	for n, item := range page.Items {
		errtest.Must(d.t, json.Unmarshal(item.Body, &all[n]))
	}
	return all
}

func TestCase_Plan_NeedsApproval(t *testing.T) {
	t.Parallel()
	d := setup(t, askFirst)
	d.decide(integration.DisabledFailing)
	d.decide(integration.DisabledFailing)
	d.wantEnabled(true)
	all := d.approvals()
	if len(all) != 1 {
		t.Fatalf("%d approvals, want 1", len(all))
	}
	approved, err := disabling.Restore(t.Context(), d.c, all[0], d.clock.Now())
	errtest.Must(t, err)
	p, err := approved.Plan(t.Context(), d.engine)
	errtest.Must(t, err)
	errtest.Must(t, d.c.Commit(t.Context(), p.Ops...))
	d.wantEnabled(false)
	if _, err := disabling.Restore(t.Context(), d.c, all[0], d.clock.Now()); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a disabled endpoint: err = %v, want a conflict", err)
	}
}

// The current policies decide again on an approved case.
func TestCase_Plan_ApprovedThenForbidden(t *testing.T) {
	t.Parallel()
	d := setup(t, askFirst)
	d.decide(integration.DisabledGone)
	d.store(askFirst, never)
	approved, err := disabling.Restore(t.Context(), d.c, d.approvals()[0], d.clock.Now())
	errtest.Must(t, err)
	p, err := approved.Plan(t.Context(), d.engine)
	errtest.Must(t, err)
	errtest.Must(t, d.c.Commit(t.Context(), p.Ops...))
	if p.Decision.Verdict != policy.Denied {
		t.Errorf("verdict = %s, want %s", p.Decision.Verdict, policy.Denied)
	}
	d.wantEnabled(true)
}
