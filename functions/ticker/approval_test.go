package ticker_test

import (
	"encoding/json"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/testkit/errtest"
)

// TestTicker_Approval ends an approval in the store once its 24 hours have passed. A read shows the same earlier, so only the
// stored form tells.
func TestTicker_Approval(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c, github := r.Company("a"), timeline.Reference{Type: "integration", ID: "github"}
	a := approval.New(policy.Decision{
		ID: id.New(), Principal: github, Action: "memory.upsert", ActionDigest: "d", Verdict: policy.NeedsApproval, At: r.Clock.Now(),
	}, json.RawMessage(`{}`), "Printer on fire", github)
	errtest.Must(t, c.Commit(t.Context(), a.Request(c, 0)...))
	wantState := func(want approval.State) {
		t.Helper()
		r.tick()
		var stored approval.Approval
		r.Get("a", approval.Key(a.ID), &stored)
		if stored.State != want {
			t.Errorf("at %v the approval is %s, want %s", r.Clock.Now(), stored.State, want)
		}
	}
	wantWarned := func(want bool) {
		t.Helper()
		wantState(approval.Pending)
		var stored approval.Approval
		r.Get("a", approval.Key(a.ID), &stored)
		if got := stored.WarnedAt != nil; got != want {
			t.Errorf("at %v the approval is marked as about to expire: %t, want %t", r.Clock.Now(), got, want)
		}
	}
	r.Clock.Set(a.ExpiresAt.Add(-approval.Warns - time.Millisecond))
	wantWarned(false)
	r.Clock.Set(a.ExpiresAt.Add(-approval.Warns))
	wantWarned(true)
	r.Clock.Set(a.ExpiresAt.Add(-time.Millisecond))
	wantWarned(true)
	r.Clock.Set(a.ExpiresAt)
	wantState(approval.Expired)
}

// TestTicker_Approval_Late ends an approval whose time is over when the timer of the warning fires: no tick came in between.
func TestTicker_Approval_Late(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c, github := r.Company("a"), timeline.Reference{Type: "integration", ID: "github"}
	a := approval.New(policy.Decision{ID: id.New(), ActionDigest: "d", At: r.Clock.Now()}, json.RawMessage(`{}`), "Printer on fire", github)
	errtest.Must(t, c.Commit(t.Context(), a.Request(c, 0)...))
	r.Clock.Set(a.ExpiresAt)
	r.tick()
	var stored approval.Approval
	r.Get("a", approval.Key(a.ID), &stored)
	if stored.State != approval.Expired {
		t.Errorf("the approval is %s, want %s", stored.State, approval.Expired)
	}
}
