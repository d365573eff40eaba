package integrations_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	kinds "orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/selection"
	"orgops/shared/testkit/errtest"
)

type filterPreview struct {
	Matched, Filtered, Failed int
	Items                     []struct {
		Event, Verdict, Error string
		Example               bool
		Steps                 int
		Body                  json.RawMessage
	}
}

// hook returns a configuration of an endpoint with further fields.
func hook(more map[string]any) map[string]any {
	config := map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}, "signingSecret": given}
	for name, value := range more {
		config[name] = value
	}
	return config
}

// TestFilter_Checked checks that an expression is checked when it is stored, with its place and without its text.
func TestFilter_Checked(t *testing.T) {
	t.Parallel()
	s := setup(t)
	p := s.do("POST", "/webhook", hook(map[string]any{"filter": `.payload.kind == "issue"`, "transform": "{secret: $secret}"})).
		WantProblem(http.StatusUnprocessableEntity, "invalid")
	var places []string
	for _, problem := range p.Errors {
		places = append(places, problem.Pointer)
	}
	if diff := cmp.Diff([]string{"/filter", "/transform"}, places); diff != "" {
		t.Errorf("places of the problems differ (-want +got):\n%s", diff)
	}
}

// TestFilter_Certification checks that a changed transformation returns the endpoint to the sandbox, and a changed filter does not.
func TestFilter_Certification(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]integration.State{"filter": integration.Certified, "transform": integration.Sandbox} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.configured("webhook", hook(nil), http.StatusCreated)
			i, version, err := integration.Load(t.Context(), s.company(), "webhook")
			errtest.Must(t, err)
			i.State = integration.Certified
			i.Certification = &integration.Certification{PassedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour), Ports: i.Permissions}
			errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(integration.Key("webhook"), integration.Entity, version, i)))
			var shown struct{ State integration.State }
			s.do("POST", "/webhook", hook(map[string]any{field: map[string]string{"filter": ".data.a == 1", "transform": "{a: .data.a}"}[field]})).
				Want(http.StatusOK).JSON(&shown)
			if shown.State != want {
				t.Errorf("after a change of the %s the endpoint is %s, want %s", field, shown.State, want)
			}
		})
	}
}

// TestFilter_Preview tries expressions on an event that happened and on examples of the others. It writes nothing.
func TestFilter_Preview(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("webhook", hook(map[string]any{"filter": `.data.title == "A"`}), http.StatusCreated)
	event := kinds.Event{ID: "019c8a5c-6f00-7a31-8f2e-1b9d5c3a7e40", Type: kinds.MemoryCreated, Timestamp: time.Now().UTC(), CompanyID: s.A.ID, Data: json.RawMessage(`{"title":"A"}`)}
	payload, err := event.Payload()
	errtest.Must(t, err)
	d := delivery.Delivery{Head: delivery.Head{EventID: event.ID, Event: event.Type, Endpoint: "webhook-other", State: delivery.Delivered}, Payload: payload}
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Create(delivery.Key(event.ID, d.Endpoint), delivery.Entity, d)))

	try := func(body any) (p filterPreview) {
		t.Helper()
		s.do("POST", "/webhook/filter/preview", body).Want(http.StatusOK).JSON(&p)
		return p
	}
	stored := try(map[string]any{})
	got := [4]int{stored.Matched, stored.Filtered, stored.Failed, len(stored.Items)}
	if want := [4]int{1, 2, 0, 3}; got != want {
		t.Fatalf("matched, filtered, failed and items %v, want %v: %+v", got, want, stored)
	}
	first := stored.Items[0]
	if first.Example {
		t.Errorf("the first event is an example, want the one that happened")
	}
	if got := string(first.Body); got != string(payload) {
		t.Errorf("body %s, want the payload", got)
	}
	given := try(map[string]any{"filter": "", "transform": "{text: .data.title}", "limit": 1})
	if len(given.Items) != 1 {
		t.Fatalf("%d items, want 1", len(given.Items))
	}
	if one := given.Items[0]; string(one.Body) != `{"text":"A"}` {
		t.Errorf("body %s, want that of the transformation", one.Body)
	}
	if given.Items[0].Steps == 0 {
		t.Error("the preview tells no steps, want some")
	}
	failing := try(map[string]any{"filter": ".data.title"})
	if failing.Failed != 3 {
		t.Errorf("a filter that gives a text fails for %d events, want 3", failing.Failed)
	}
	if failing.Items[0].Error == "" {
		t.Error("the failure has no reason")
	}
	s.do("POST", "/webhook/filter/preview", map[string]any{"filter": "now"}).WantProblem(http.StatusUnprocessableEntity, "invalid")
	s.do("POST", "/webhook-none/filter/preview", map[string]any{}).Want(http.StatusNotFound)
	s.wantNone("SELECTED#")
}

// TestFilter_Counts shows what became of the events of a day, and warns after a failure.
func TestFilter_Counts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("webhook", hook(map[string]any{"filter": `.data.title == "A"`}), http.StatusCreated)
	i, _, err := integration.Load(t.Context(), s.company(), "webhook")
	errtest.Must(t, err)
	now := time.Now()
	for process, c := range map[string]selection.Counts{"p": {Matched: 1, Filtered: 2}, "q": {Matched: 1, Failed: 1, Reason: "r"}} {
		c.Date = selection.Today(now)
		errtest.Must(t, s.company().Commit(t.Context(), c.Write(s.company(), "webhook", i.Incarnation, process, 0, now)))
	}
	var shown struct {
		Selected []selection.Counts
		Health   struct{ Status string }
	}
	s.do("GET", "/webhook", nil).Want(http.StatusOK).JSON(&shown)
	want := []selection.Counts{{Date: selection.Today(now), Matched: 2, Filtered: 2, Failed: 1, Reason: "r"}}
	if diff := cmp.Diff(want, shown.Selected); diff != "" {
		t.Errorf("counts differ (-want +got):\n%s", diff)
	}
	if shown.Health.Status != "warn" {
		t.Errorf("health %s, want warn", shown.Health.Status)
	}
}
