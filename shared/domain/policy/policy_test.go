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
		want := policy.Decision{
			Verdict: tt.verdict, Principal: r.Principal, Action: r.Action, Resource: r.Resource, Policies: []string{tt.rule}, At: now,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Decision{}, "ID", "Reasons")); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
		if len(got.ID) != 36 || len(got.Reasons) != 1 || got.Reasons[0] == "" {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	d := policy.Decision{ID: "d", Verdict: policy.Denied, At: now}
	op := policy.Create(store.For(nil, "c"), d)
	if op.Key != "DECISION#d" || !op.Quiet || op.Condition != store.IfAbsent || !op.Expires.Equal(now.Add(180*24*time.Hour)) {
		t.Errorf("%+v", op)
	}
	var stored policy.Decision
	if err := json.Unmarshal(op.Body, &stored); err != nil || stored.ID != "d" {
		t.Errorf("%s, %v", op.Body, err)
	}
}
