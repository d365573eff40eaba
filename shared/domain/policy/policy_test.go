package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestRules(t *testing.T) {
	t.Parallel()
	all := []string{"memory.upsert", "goal.update", "timeline.note", "memory.delete", "inbound.receive"}
	tests := []struct {
		name    string
		action  string
		context policy.Context
		verdict policy.Verdict
		rule    string
	}{
		{"permitted", "memory.upsert", policy.Context{Permissions: all, Enabled: true, Certified: true}, policy.Permitted, "permit-connector-actions"},
		{"the sandbox does not change the verdict", "goal.update", policy.Context{Permissions: all, Enabled: true}, policy.Permitted, "permit-connector-actions"},
		{"without the permission", "timeline.note", policy.Context{Permissions: all[:2], Enabled: true, Certified: true}, policy.Denied, "action-within-permissions"},
		{"without any permission", "memory.upsert", policy.Context{Enabled: true, Certified: true}, policy.Denied, "action-within-permissions"},
		{"disabled", "memory.upsert", policy.Context{Permissions: all, Certified: true}, policy.Denied, "principal-enabled"},
		{"an action that no rule knows", "memory.delete", policy.Context{Permissions: all, Enabled: true, Certified: true}, policy.Denied, "deny-by-default"},
		{"a port that is not an action", "inbound.receive", policy.Context{Permissions: all, Enabled: true, Certified: true}, policy.Denied, "deny-by-default"},
		{"zero context", "", policy.Context{}, policy.Denied, "principal-enabled"},
	}
	for _, tt := range tests {
		r := policy.Request{
			Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: tt.action,
			Resource: timeline.Reference{Type: "memory", ID: "m"}, Context: tt.context,
		}
		got, err := policy.Rules{Now: func() time.Time { return now }}.Decide(t.Context(), "company", r)
		errtest.Must(t, err)
		want := policy.Decision{
			Verdict: tt.verdict, Principal: r.Principal, Action: r.Action, Resource: r.Resource, Policies: []string{tt.rule}, At: now,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Decision{}, "ID", "Reasons")); diff != "" {
			t.Errorf("%s: decision differs (-want +got):\n%s", tt.name, diff)
		}
		if n := len(got.ID); n != 36 {
			t.Errorf("%s: id of %d bytes, want 36", tt.name, n)
		}
		if n := len(got.Reasons); n != 1 {
			t.Fatalf("%s: reasons %q, want one", tt.name, got.Reasons)
		}
		if got.Reasons[0] == "" {
			t.Errorf("%s: the reason is empty", tt.name)
		}
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	d := policy.Decision{ID: "d", Verdict: policy.Denied, At: now}
	op := policy.Create(store.For(nil, "c"), d)
	want := store.Op{
		Key: "DECISION#d", Action: store.Put, Condition: store.IfAbsent, Entity: policy.Entity, Expires: now.Add(180 * 24 * time.Hour), Quiet: true,
	}
	if diff := cmp.Diff(want, op, cmpopts.IgnoreFields(store.Op{}, "Partition", "Body")); diff != "" {
		t.Errorf("op differs (-want +got):\n%s", diff)
	}
	var stored policy.Decision
	errtest.Must(t, json.Unmarshal(op.Body, &stored))
	if diff := cmp.Diff(d, stored); diff != "" {
		t.Errorf("stored decision differs (-want +got):\n%s", diff)
	}
}
