package integrations_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
)

// incarnation returns the stored incarnation of an integration, "" if it is not configured.
func (s *service) incarnation(provider string) string {
	s.t.Helper()
	i, _, err := integration.Load(s.t.Context(), s.company(), provider)
	if fault.KindOf(err) != fault.NotFound {
		errtest.Must(s.t, err)
	}
	return i.Incarnation
}

// TestIncarnation keeps an integration's incarnation over its changes, and gives another one to what is configured under its name
// after it was deleted.
func TestIncarnation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, s.verifying(given))
	s.configure("webhook", r.URL)
	first := s.incarnation("webhook")
	if _, ok := id.Time(first); !ok {
		t.Fatalf("incarnation %q, want a UUIDv7", first)
	}
	s.configured("webhook", map[string]any{"url": r.URL + "/other", "events": []string{"memory.*"}}, 200)
	s.do("POST", "/webhook/certification", nil).Want(200)
	s.do("POST", "/webhook/disable", nil).Want(200)
	s.do("POST", "/webhook/secret", nil).Want(200)
	if got := s.incarnation("webhook"); got != first {
		t.Errorf("incarnation %s after changes, want %s", got, first)
	}
	s.do("DELETE", "/webhook", nil).Want(204)
	s.configure("webhook", r.URL)
	if got := s.incarnation("webhook"); got == first {
		t.Errorf("incarnation %s after deleting and configuring again, want another one", got)
	}
}

// TestIncarnation_Certification deletes an endpoint during its certification, and configures another one under its name. What the
// certification has proven must not be stored with the other one.
func TestIncarnation_Certification(t *testing.T) {
	t.Parallel()
	s := setup(t)
	other := "https://example.com/other"
	var once sync.Once
	verify := s.verifying(given)
	r := receive(t, func(h http.Header, body []byte) int {
		once.Do(func() {
			s.do("DELETE", "/webhook", nil).Want(204)
			s.configure("webhook", other)
		})
		return verify(h, body)
	})
	s.configure("webhook", r.URL)
	s.do("POST", "/webhook/certification", nil).WantProblem(409, "conflict")
	i := s.get("webhook")
	s.wantStanding(i, standing{State: "sandbox", Enabled: true})
	if i.URL != other {
		t.Errorf("url %q, want %q", i.URL, other)
	}
	if i.Version != 1 {
		t.Errorf("version %d, want 1", i.Version)
	}
}

// TestIncarnation_Retry shows the deliveries of an endpoint that was deleted, and sends none of them to the endpoint that has its name
// now.
func TestIncarnation_Retry(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	old := s.deliver("webhook", dead(s.clock.Now()))
	s.do("DELETE", "/webhook", nil).Want(204)
	s.configure("webhook", "https://example.com/other")
	own := s.deliver("webhook", held(s.clock.Now()))
	if p := s.do("POST", "/webhook/deliveries/"+old.EventID+"/retry", nil).WantProblem(409, "conflict"); !strings.Contains(p.Detail, "was deleted") {
		t.Errorf("detail %q, want that the endpoint was deleted", p.Detail)
	}
	s.do("POST", "/webhook/deliveries/"+own.EventID+"/retry", nil).Want(202)
	s.do("GET", "/webhook/deliveries/"+old.EventID, nil).Want(200)
	var page struct{ Items []attempt }
	s.do("GET", "/webhook/deliveries", nil).Want(200).JSON(&page)
	if len(page.Items) != 2 {
		t.Errorf("%d deliveries listed, want 2: %+v", len(page.Items), page.Items)
	}
}
