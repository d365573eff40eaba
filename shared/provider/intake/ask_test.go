package intake_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/policyengine"
	"orgops/shared/testkit/errtest"
)

// asking returns a planner of a company whose policies ask for an approval of everything.
func asking(t *testing.T) *intake.Planner {
	t.Helper()
	today := time.Now().UTC().Truncate(time.Millisecond) // the store drops what has expired by now
	p := planner(t, policyengine.New(func() time.Time { return today }))
	p.Now = today
	p.Integration.Permissions = []integration.Port{integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote}
	errtest.Must(t, p.Company.Commit(t.Context(), policy.Save(p.Company, 0, policy.Stored{Policies: []policy.Statement{{
		ID: "ask", Mode: policy.Enforce, Text: `@approval("agree") forbid (principal, action, resource) unless { context.approval == context.digest };`,
	}}})))
	return p
}

func everyAction() []connector.Action {
	at := now.Add(-time.Hour)
	m, g := upsert("a <b>"), due(0.579)
	m.Memory.UpdatedAt, g.Goal.UpdatedAt = &at, &at
	return []connector.Action{m, g, {Port: integration.TimelineNote, Note: &connector.NoteDraft{
		Title: "Moved", Subject: "office", Details: json.RawMessage(`{"a":9007199254740993}`), Once: "o", At: &at}}}
}

// An action that needs an approval is kept as it was asked for. Once approved, it is carried out, and then changes nothing.
func TestPlanner_Plan_Approval(t *testing.T) {
	t.Parallel()
	p := asking(t)
	for _, a := range everyAction() {
		asked, err := p.Plan(t.Context(), a)
		errtest.Must(t, err)
		if asked.Outcome != intake.Pending {
			t.Fatalf("%s: outcome = %s, want %s", a.Port, asked.Outcome, intake.Pending)
		}
		if diff := cmp.Diff([]string{"approval", "approval-mark", "timer"}, entities(asked.Ops)); diff != "" {
			t.Fatalf("%s: entities of the ops differ (-want +got):\n%s", a.Port, diff)
		}
		errtest.Must(t, p.Company.Commit(t.Context(), asked.Ops...))
		again, err := p.Plan(t.Context(), a)
		errtest.Must(t, err)
		if again.ApprovalID != asked.ApprovalID {
			t.Errorf("%s: approval of a further request = %s, want the first, %s", a.Port, again.ApprovalID, asked.ApprovalID)
		}
		if len(again.Ops) != 0 {
			t.Errorf("%s: ops of a further request = %v, want none", a.Port, entities(again.Ops))
		}
		var kept approval.Approval
		_, err = p.Company.Get(t.Context(), approval.Key(asked.ApprovalID), &kept)
		errtest.Must(t, err)
		restored, err := intake.Restore(kept.Action, kept.Payload)
		errtest.Must(t, err)
		if diff := cmp.Diff(a, restored); diff != "" {
			t.Errorf("restored action differs (-want +got):\n%s", diff)
		}
		approved := *p
		approved.Approval = kept.Digest
		done, err := approved.Plan(t.Context(), restored)
		errtest.Must(t, err)
		if done.Outcome != intake.Created {
			t.Fatalf("%s: outcome of the approved action = %s, want %s", a.Port, done.Outcome, intake.Created)
		}
		errtest.Must(t, p.Company.Commit(t.Context(), done.Ops...))
		same, err := p.Plan(t.Context(), a)
		errtest.Must(t, err)
		if same.Outcome != intake.Unchanged {
			t.Errorf("%s: outcome of the action once more = %s, want %s", a.Port, same.Outcome, intake.Unchanged)
		}
	}
}

// A number that a sync has read for a goal of the company's own waits for an approval as well, and then moves the goal.
func TestPlanner_Plan_ReadingApproval(t *testing.T) {
	t.Parallel()
	p := asking(t)
	p.Integration.Provider = "stripe"
	source := goal.Source{Provider: "stripe", Stream: "invoices", Pointer: "/amount_paid", Aggregate: goal.Sum}
	g, _ := goal.Apply(goal.Goal{}, goal.Own, goal.Draft{ExternalID: "mrr", Title: "MRR", State: goal.Open, Measure: &goal.Measure{
		Start: "0", Target: "50", Unit: "EUR", Direction: goal.Up, Source: &source}}, now)
	errtest.Must(t, p.Company.Commit(t.Context(), p.Company.Create(goal.Key(g.ID), goal.Entity, g)))
	a := connector.Action{Port: integration.GoalUpdate, Reading: &goal.Reading{Goal: g.ID, Title: "MRR", Source: source, Current: "40", Progress: 0.8}}
	asked, err := p.Plan(t.Context(), a)
	errtest.Must(t, err)
	errtest.Must(t, p.Company.Commit(t.Context(), asked.Ops...))
	var kept approval.Approval
	_, err = p.Company.Get(t.Context(), approval.Key(asked.ApprovalID), &kept)
	errtest.Must(t, err)
	restored, err := intake.Restore(kept.Action, kept.Payload)
	errtest.Must(t, err)
	if diff := cmp.Diff(a, restored); diff != "" {
		t.Errorf("restored action differs (-want +got):\n%s", diff)
	}
	p.Approval = kept.Digest
	done, err := p.Plan(t.Context(), restored)
	errtest.Must(t, err)
	errtest.Must(t, p.Company.Commit(t.Context(), done.Ops...))
	var moved goal.Goal
	_, err = p.Company.Get(t.Context(), goal.Key(g.ID), &moved)
	errtest.Must(t, err)
	if got := moved.Measure.String(); got != "40 of 50 EUR" {
		t.Errorf("the goal is at %s after the approval, want 40 of 50 EUR", got)
	}
	same, err := p.Plan(t.Context(), restored)
	errtest.Must(t, err)
	if same.Outcome != intake.Unchanged {
		t.Errorf("outcome of the action once more = %s, want %s", same.Outcome, intake.Unchanged)
	}
}

// The approval of one action permits no other one, and asks for no further approval.
func TestPlanner_Plan_ForeignApproval(t *testing.T) {
	t.Parallel()
	p := asking(t)
	asked, err := p.Plan(t.Context(), upsert("a"))
	errtest.Must(t, err)
	p.Approval = asked.Decision.ActionDigest
	got, err := p.Plan(t.Context(), upsert("b"))
	errtest.Must(t, err)
	if got.Outcome != intake.Refused {
		t.Errorf("outcome = %s, want %s", got.Outcome, intake.Refused)
	}
	if diff := cmp.Diff([]string{"timeline"}, entities(got.Ops)); diff != "" {
		t.Errorf("entities of the ops differ (-want +got):\n%s", diff)
	}
}

// The sandbox asks for no approval.
func TestPlanner_Plan_ApprovalDryRun(t *testing.T) {
	t.Parallel()
	p := asking(t)
	p.DryRun = true
	got, err := p.Plan(t.Context(), upsert("a"))
	errtest.Must(t, err)
	if got.Outcome != intake.Pending {
		t.Errorf("outcome = %s, want %s", got.Outcome, intake.Pending)
	}
	if len(got.Ops) != 0 {
		t.Errorf("ops = %v, want none", entities(got.Ops))
	}
}

func TestRestore_Refused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ action, payload string }{
		"not JSON":            {"memory.upsert", "memory"},
		"another action":      {"goal.update", `{"memory":{"externalId":"1","title":"a"}}`},
		"no draft":            {"memory.upsert", `{}`},
		"an unknown action":   {"sync.pull", `{"memory":{"externalId":"1","title":"a"}}`},
		"a draft of no shape": {"memory.upsert", `{"memory":7}`},
	} {
		if a, err := intake.Restore(tt.action, json.RawMessage(tt.payload)); err == nil {
			t.Errorf("%s: restored %+v, want an error", name, a)
		}
	}
}
