package inbound_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/testkit/errtest"
)

// TestReceive_Measure moves a goal by the numbers of webhooks, and refuses what is no number.
func TestReceive_Measure(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	post := func(id, measure string) int {
		body := `{"type":"goal.update","data":{"externalId":"mrr","title":"MRR","state":"open","measure":` + measure + `}}`
		return s.send("webhook", secret, id, body).Status
	}
	answers := []int{
		post("1", `{"current":30000,"target":50000,"unit":"EUR","direction":"up"}`),
		post("2", `{"current":"41200.50","target":50000,"unit":"EUR","direction":"up"}`),
		post("3", `{"current":"much","target":50000,"unit":"EUR","direction":"up"}`),
		post("4", `42`),
	}
	if diff := cmp.Diff([]int{202, 202, 422, 422}, answers); diff != "" {
		t.Errorf("answers differ (-want +got):\n%s", diff)
	}
	goals := items[goal.Goal](s, goal.Prefix)
	want := &goal.Measure{Start: "30000", Current: "41200.50", Target: "50000", Unit: "EUR", Direction: goal.Up, ObservedAt: s.clock.Now().UTC()}
	if diff := cmp.Diff(want, goals[0].Measure); diff != "" {
		t.Errorf("measure differs (-want +got):\n%s", diff)
	}
	history, _, err := goal.LoadHistory(t.Context(), s.company(), goals[0].ID)
	errtest.Must(t, err)
	day := s.clock.Now().UTC().Format("2006-01-02")
	if diff := cmp.Diff([]goal.Value{{Day: day, Current: "41200.50", Progress: 0.560025}}, history.Values); diff != "" {
		t.Errorf("history differs (-want +got):\n%s", diff)
	}
}
