package integrations_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
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

// TestIncarnation_Waiting shows the deliveries that waited for a deleted endpoint as held from then on, not only when they are next due.
func TestIncarnation_Waiting(t *testing.T) {
	t.Parallel()
	s := setup(t)
	list := func(query string) (states []string) {
		var page struct{ Items []attempt }
		s.do("GET", query, nil).Want(200).JSON(&page)
		for _, d := range page.Items {
			states = append(states, d.State+" "+d.HeldBecause)
			if (d.NextAttemptAt != nil) != (d.State == string(delivery.Scheduled)) {
				t.Errorf("%s: %s, next attempt at %v", query, d.State, d.NextAttemptAt)
			}
		}
		return states
	}
	want := func(query string, want ...string) {
		t.Helper()
		if got := list(query); !slices.Equal(got, want) {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	s.configure("webhook", "https://example.com/")
	due := event(s.clock.Now(), "memory.updated")
	due.Enqueue(s.clock.Now().Add(time.Hour))
	due = s.deliver("webhook", due)
	behind := event(s.clock.Now().Add(time.Millisecond), "memory.updated")
	behind.End(delivery.Waiting)
	s.deliver("webhook", behind)
	want("/webhook/deliveries", "waiting ", "scheduled ")
	for _, next := range []func(){func() {}, func() { s.configure("webhook", "https://example.com/other") }} {
		if s.incarnation("webhook") == due.Incarnation {
			s.do("DELETE", "/webhook", nil).Want(204)
		}
		next()
		want("/webhook/deliveries", "held deleted", "held deleted")
		want("/webhook/deliveries?state=scheduled")
		want("/webhook/deliveries?state=held", "held deleted", "held deleted")
		var one attempt
		s.do("GET", "/webhook/deliveries/"+due.EventID, nil).Want(200).JSON(&one)
		if one.State != string(delivery.Held) {
			t.Errorf("state %s, want held", one.State)
		}
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
