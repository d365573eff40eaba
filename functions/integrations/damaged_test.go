package integrations_test

import (
	"slices"
	"testing"

	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
)

// TestDamaged shows an integration whose stored form cannot be read, refuses to use it, and lets it be configured again or
// deleted.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for _, repair := range []string{"POST", "DELETE"} {
		t.Run(repair, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.configure("webhook-well", "https://example.com/")
			errtest.Must(t, s.company().Commit(t.Context(),
				s.company().Create(integration.Key("webhook"), integration.Entity, map[string]any{"enabled": "yes"})))
			var list struct{ Items []shown }
			s.do("GET", "", nil).Want(200).JSON(&list)
			if got, want := providers(list.Items), []string{"webhook", "webhook-well"}; !slices.Equal(got, want) {
				t.Errorf("integrations %q, want %q", got, want)
			}
			if got := s.get("webhook"); got.Enabled {
				t.Error("the damaged integration is enabled")
			}
			for _, path := range []string{"/enable", "/certification", "/secret"} {
				s.do("POST", "/webhook"+path, nil).WantProblem(409, "conflict")
			}
			if repair == "DELETE" {
				s.do("DELETE", "/webhook", nil).Want(204)
				return
			}
			again := s.configured("webhook", map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}, 200)
			if !again.Enabled {
				t.Error("the integration is disabled after it was configured again")
			}
			s.do("POST", "/webhook/disable", nil).Want(200)
		})
	}
}

func providers(all []shown) []string {
	var names []string
	for _, i := range all {
		names = append(names, i.Provider)
	}
	return names
}
