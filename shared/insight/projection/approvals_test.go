package projection_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

func ask(h *history, decision string) approval.Approval {
	d := policy.Decision{ID: decision, At: h.now, Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: "goal.update"}
	a := approval.New(d, json.RawMessage(`{}`), "Ship", d.Principal)
	h.put(approval.Entity, approval.Key(a.ID), a)
	return a
}

func end(h *history, a approval.Approval, s approval.State, answer approval.Answer) {
	answer.At = h.now
	h.put(approval.Entity, approval.Key(a.ID), a.End(s, answer))
}

// The context counts approvals that wait, and those that expired, and forgets both with time.
func TestFold_Approvals(t *testing.T) {
	t.Parallel()
	h := newHistory()
	first, second := ask(h, "1"), ask(h, "2")
	ask(h.after(time.Hour), "3")
	want := projection.Governance{
		Waiting: projection.Tally{{From: noon(), Count: 2}, {From: noon().Add(time.Hour), Count: 1}}, Unanswered: projection.Tally{},
	}
	check := func(when string) {
		t.Helper()
		p, _ := h.fold(t)
		if diff := cmp.Diff(want, p.Governance); diff != "" {
			t.Errorf("%s: facts differ (-want +got):\n%s", when, diff)
		}
	}
	check("three are asked for")
	end(h, first, approval.Rejected, approval.Answer{})
	want.Waiting[0].Count = 1
	check("one is rejected")
	end(h.after(24*time.Hour), second, approval.Expired, approval.Answer{})
	want.Waiting, want.Unanswered = want.Waiting[1:], projection.Tally{{From: noon().Truncate(24 * time.Hour), Count: 1}}
	check("one has expired")
	ask(h.after(48*time.Hour), "4")
	want.Waiting = projection.Tally{{From: h.now, Count: 1}}
	check("the timer of one is overdue for a day")
	h.after(31*24*time.Hour).put(policy.StoredEntity, policy.StoredKey, policy.Stored{Policies: make([]policy.Statement, 2), UpdatedAt: h.now})
	want = projection.Governance{Policies: 2, PoliciesAt: h.now, Waiting: projection.Tally{}, Unanswered: projection.Tally{}}
	check("a month later, with policies")
}

// An approval that is asked for or ends makes an entry of the timeline.
func TestFold_ApprovalEntries(t *testing.T) {
	t.Parallel()
	h, ada := newHistory(), timeline.Reference{Type: "user", ID: "ada"}
	end(h, ask(h, "1"), approval.Approved, approval.Answer{By: ada, Verdict: policy.Permitted, Outcome: "updated", DecisionID: "d"})
	end(h, ask(h, "2"), approval.Approved, approval.Answer{By: ada, Verdict: policy.Denied, Outcome: "refused", DecisionID: "e"})
	end(h, ask(h, "3"), approval.Rejected, approval.Answer{By: ada})
	last := ask(h, "4")
	end(h, last, approval.Expired, approval.Answer{By: timeline.Reference{Type: "system", ID: "orgops"}})
	_, entries := h.fold(t)
	type line struct{ Kind, Actor, Title, Details string }
	asked := line{"approval.requested", "github", "An approval is needed for github to goal.update: Ship", `{"action":"goal.update","expiresAt":"2026-03-03T12:00:00Z"}`}
	want := []line{
		asked, {"approval.decided", "ada", "The approval for github to goal.update: Ship was given",
			`{"action":"goal.update","decisionId":"d","outcome":"updated","state":"approved","verdict":"permitted"}`},
		asked, {"approval.decided", "ada", "The approval for github to goal.update: Ship was given, but the policies no longer permit the action",
			`{"action":"goal.update","decisionId":"e","outcome":"refused","state":"approved","verdict":"denied"}`},
		asked, {"approval.decided", "ada", "The approval for github to goal.update: Ship was rejected", `{"action":"goal.update","state":"rejected"}`},
		asked, {"approval.decided", "orgops", "The approval for github to goal.update: Ship expired without a decision", `{"action":"goal.update","state":"expired"}`},
	}
	var got []line
	for _, e := range entries {
		got = append(got, line{string(e.Kind), e.Actor.ID, e.Title, string(e.Details)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries differ (-want +got):\n%s", diff)
	}
	subject := timeline.Entry{Subject: timeline.Reference{Type: "approval", ID: last.ID}}
	if diff := cmp.Diff(subject, entries[len(entries)-1], cmpopts.IgnoreFields(subject, "ID", "At", "Kind", "Title", "Actor", "Details")); diff != "" {
		t.Errorf("the entry's subject differs (-want +got):\n%s", diff)
	}
}
