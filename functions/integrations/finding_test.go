package integrations_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
)

// found decodes what a check reports, without its status.
type found struct {
	ID       string
	Evidence []struct {
		Name, Unit string
		Value      float64
		At         time.Time
	}
	Remedy *struct{ Operation, Method, Href string }
}

func (s *service) findings(body []byte, id string) found {
	s.t.Helper()
	var r struct{ Checks []found }
	errtest.Must(s.t, json.Unmarshal(body, &r))
	for _, c := range r.Checks {
		if c.ID == id {
			return c
		}
	}
	s.t.Fatalf("no check %s in %s", id, body)
	return found{}
}

// TestCertify_Findings shows with each check the facts that it found, and the operation that fixes it where there is one.
// The operation works as it is given.
func TestCertify_Findings(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, always(http.StatusInternalServerError))
	s.configure("webhook", r.URL)
	c := s.findings(s.do("POST", "/webhook/certification", nil).Want(200).Body, "accepts-signed")
	if len(c.Evidence) != 1 {
		t.Fatalf("got %d facts of accepts-signed, want 1", len(c.Evidence))
	}
	if got := c.Evidence[0]; got.Value != 500 {
		t.Errorf("evidence = %+v, want the status 500", got)
	}
	if c.Remedy != nil {
		t.Errorf("remedy = %+v, want none: the receiver has to change", *c.Remedy)
	}

	s.do("POST", "/github", map[string]any{"repository": "octo/app"}).Want(201)
	c = s.findings(s.do("POST", "/github/certification", nil).Want(200).Body, "signing-secret")
	if c.Remedy == nil {
		t.Fatal("signing-secret has no remedy, want configure-integration")
	}
	if got := c.Remedy.Operation; got != "configure-integration" {
		t.Errorf("remedy = %s, want configure-integration", got)
	}
	body := map[string]any{"repository": "octo/app", "signingSecret": "as typed at github"}
	s.Do(c.Remedy.Method, c.Remedy.Href, s.A.Token, body).Want(200)
}

// TestCertification_FormerReport reads a report that a former version has stored, whose checks have no evidence.
func TestCertification_FormerReport(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", receive(t, s.verifying(given)).URL)
	s.certify("webhook")
	_, version, err := integration.LoadReports(t.Context(), s.company(), "webhook")
	errtest.Must(t, err)
	const report = `{"suite":"1","configDigest":"x","at":"2026-01-01T00:00:00Z","passed":true,"ports":["event.deliver"],"checks":[` +
		`{"id":"url-allowed","title":"The url may be sent to","port":"event.deliver","status":"pass","reason":"it meets the rules","required":true}]}`
	former := json.RawMessage(`{"last":` + report + `,"passed":` + report + `}`)
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Save(integration.ReportsKey("webhook"), integration.ReportsEntity, version, former)))
	type shown struct {
		Checks []map[string]any
	}
	want := []map[string]any{{
		"id": "url-allowed", "title": "The url may be sent to", "port": "event.deliver", "status": "pass", "reason": "it meets the rules",
		"evidence": []any{}, "required": true,
	}}
	var last shown
	s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last)
	if diff := cmp.Diff(want, last.Checks); diff != "" {
		t.Errorf("checks of the last report differ (-want +got):\n%s", diff)
	}
	var i struct{ Certification struct{ Report shown } }
	s.do("GET", "/webhook", nil).Want(200).JSON(&i)
	if diff := cmp.Diff(want, i.Certification.Report.Checks); diff != "" {
		t.Errorf("checks of the integration's report differ (-want +got):\n%s", diff)
	}
	if body := string(s.do("GET", "", nil).Want(200).Body); !strings.Contains(body, `"evidence":[]`) {
		t.Errorf("the list shows %s, want one with an empty list of evidence", body)
	}
}
