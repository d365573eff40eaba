package operations_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/base/id"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/provider/policyengine"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/courier"
)

func setup(t testing.TB) *webtest.Harness {
	t.Helper()
	h := webtest.New(t)
	operations.Register(h.API(), operations.Deps{
		Store: h.Store, Vault: h.Vault, Reader: assessment.NewReader(noon), Now: noon,
		Courier: courier.New(courier.Deps{Store: h.Store, Vault: h.Vault, Logger: slog.New(slog.DiscardHandler), Now: noon, Shared: true}),
		Engine:  policyengine.New(noon), Checker: policycheck.New(),
	})
	return h
}

// noon returns the tests' time. It lies far ahead, so that the store takes nothing that they store for expired.
func noon() time.Time { return time.Date(2126, 3, 2, 12, 0, 0, 0, time.UTC) }

func path(h *webtest.Harness, rest string) string {
	return "/companies/" + h.A.ID + "/operations" + rest
}

func TestGuard(t *testing.T) {
	t.Parallel()
	webtest.GuardAll(t, setup(t))
}

func decision(verdict policy.Verdict, principal, action string) policy.Decision {
	return policy.Decision{
		ID: id.New(), Verdict: verdict, Principal: timeline.Reference{Type: "integration", ID: principal}, Action: action,
		Resource: timeline.Reference{Type: "memory", ID: "1"}, Policies: []string{"p"}, Reasons: []string{"r"},
		At: time.Now().UTC().Truncate(time.Millisecond),
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := store.For(h.Store, h.A.ID)
	stored := []policy.Decision{
		decision(policy.Permitted, "github", "memory.upsert"),
		decision(policy.Denied, "github", "goal.update"),
		decision(policy.NeedsApproval, "webhook", "memory.upsert"),
	}
	for _, d := range stored {
		errtest.Must(t, c.Commit(t.Context(), policy.Create(c, d)))
	}
	// The refusal of a page leads its entry; the permitted ones are next to it.
	page := []policy.Decision{decision(policy.Permitted, "feed", "memory.upsert"), decision(policy.Denied, "feed", "memory.upsert")}
	errtest.Must(t, c.Commit(t.Context(), policy.CreatePage(c, page)))

	tests := []struct {
		query string
		want  []string
	}{
		{"", []string{page[1].ID, stored[2].ID, stored[1].ID, stored[0].ID}},
		{"?verdict=denied", []string{page[1].ID, stored[1].ID}},
		{"?verdict=permitted", []string{page[1].ID, stored[0].ID}},
		{"?action=goal.update", []string{stored[1].ID}},
		{"?principal=webhook", []string{stored[2].ID}},
		{"?principal=nobody", nil},
	}
	for _, tt := range tests {
		var got struct{ Items []policy.Decisions }
		h.Do("GET", path(h, "/decisions"+tt.query), h.A.Token, nil).Want(200).JSON(&got)
		var ids []string
		for _, d := range got.Items {
			ids = append(ids, d.ID)
		}
		if diff := cmp.Diff(tt.want, ids); diff != "" {
			t.Errorf("decisions for %q differ (-want +got):\n%s", tt.query, diff)
		}
	}
	h.Do("GET", path(h, "/decisions?verdict=maybe"), h.A.Token, nil).WantProblem(422, "invalid")
	var other struct{ Items []policy.Decisions }
	h.Do("GET", "/companies/"+h.B.ID+"/operations/decisions", h.B.Token, nil).Want(200).JSON(&other)
	if len(other.Items) != 0 {
		t.Errorf("another company has %+v, want nothing", other.Items)
	}
}
