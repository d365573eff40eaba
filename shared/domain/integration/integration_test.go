package integration_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestIntegration_Allows(t *testing.T) {
	t.Parallel()
	certified := integration.Integration{
		State: integration.Certified, Enabled: true, Permissions: []integration.Port{integration.EventDeliver, integration.InboundReceive},
		Certification: &integration.Certification{ExpiresAt: now.Add(time.Hour), Ports: []integration.Port{integration.EventDeliver, integration.SyncPull}},
	}
	changed := func(change func(*integration.Integration)) integration.Integration {
		i := certified
		change(&i)
		return i
	}
	tests := []struct {
		name string
		i    integration.Integration
		port integration.Port
		at   time.Time
		want bool
	}{
		{"proven and permitted", certified, integration.EventDeliver, now, true},
		{"just before it expires", certified, integration.EventDeliver, now.Add(time.Hour - 1), true},
		{"expired", certified, integration.EventDeliver, now.Add(time.Hour), false},
		{"permitted, not proven", certified, integration.InboundReceive, now, false},
		{"proven, not permitted", certified, integration.SyncPull, now, false},
		{"neither", certified, integration.GoalUpdate, now, false},
		{"disabled", changed(func(i *integration.Integration) { i.Enabled = false }), integration.EventDeliver, now, false},
		{"sandboxed", certified.Sandboxed(integration.SandboxedByChange, now), integration.EventDeliver, now, false},
		{"state without a certification", changed(func(i *integration.Integration) { i.Certification = nil }), integration.EventDeliver, now, false},
		{"certification without the state", changed(func(i *integration.Integration) { i.State = integration.Sandbox }), integration.EventDeliver, now, false},
		{"nothing", integration.Integration{}, integration.EventDeliver, now, false},
	}
	for _, tt := range tests {
		if got := tt.i.Allows(tt.port, tt.at); got != tt.want {
			t.Errorf("%s: Allows = %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestIntegration_Sandboxed(t *testing.T) {
	t.Parallel()
	certified := integration.Integration{Provider: "github", State: integration.Certified, Enabled: true, Certification: &integration.Certification{}}
	want := integration.Integration{
		Provider: "github", State: integration.Sandbox, Enabled: true, SandboxedCause: "expired", UpdatedAt: now,
	}
	if diff := cmp.Diff(want, certified.Sandboxed(integration.SandboxedByExpiry, now)); diff != "" {
		t.Errorf("sandboxed integration differs (-want +got):\n%s", diff)
	}
	if certified.Certification == nil {
		t.Error("Sandboxed has changed the integration that it was called on")
	}
}

func TestReport_Conclude(t *testing.T) {
	t.Parallel()
	const deliver, receive = integration.EventDeliver, integration.InboundReceive
	check := func(p integration.Port, r finding.Status, required bool) integration.PortCheck {
		return integration.PortCheck{Check: finding.Check{Status: r}, Port: p, Required: required}
	}
	none := []integration.Port{} // not nil: the API shows a list
	tests := []struct {
		name   string
		checks []integration.PortCheck
		passed bool
		ports  []integration.Port
	}{
		{"no checks", nil, false, none},
		{"all pass", []integration.PortCheck{check(deliver, finding.Pass, true), check(deliver, finding.Pass, true), check(receive, finding.Pass, true)}, true, []integration.Port{deliver, receive}},
		{"one port fails", []integration.PortCheck{check(deliver, finding.Pass, true), check(deliver, finding.Fail, true), check(receive, finding.Pass, true)}, false, []integration.Port{receive}},
		{"a required check that does not apply closes its port", []integration.PortCheck{check(deliver, finding.NotApplicable, true), check(receive, finding.Pass, true)}, true, []integration.Port{receive}},
		{"an optional check that does not apply closes no port", []integration.PortCheck{check(deliver, finding.Pass, true), check(deliver, finding.NotApplicable, false)}, true, []integration.Port{deliver}},
		{"no check applies", []integration.PortCheck{check(receive, finding.NotApplicable, true)}, false, none},
		{"no check applies, none required", []integration.PortCheck{check(receive, finding.NotApplicable, false)}, false, none},
	}
	for _, tt := range tests {
		got := integration.PortReport{Report: finding.Report[integration.PortCheck]{Checks: tt.checks}}
		want := got
		want.Passed, want.Ports = tt.passed, tt.ports
		got.Conclude()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: report differs (-want +got):\n%s", tt.name, diff)
		}
	}
}
