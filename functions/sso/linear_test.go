package sso_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"orgops/shared/testkit/growthtest"
)

// TestSAML_Form_Linear reads a form that is four times as long with about four times the work.
func TestSAML_Form_Linear(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	s := setup(t)
	for name, form := range map[string]func(n int) string{
		"fields":       func(n int) string { return strings.Repeat("a=b&", n) + "SAMLResponse=AA&RelayState=A" },
		"one name":     func(n int) string { return strings.Repeat("SAMLResponse=AA&", n) + "RelayState=A" },
		"escapes":      func(n int) string { return "RelayState=A&SAMLResponse=" + strings.Repeat("%41", n) },
		"separators":   func(n int) string { return strings.Repeat("&", n) },
		"a wrong end":  func(n int) string { return "RelayState=A&SAMLResponse=" + strings.Repeat("A", 4*n) + "%" },
		"a long state": func(n int) string { return "SAMLResponse=AA&RelayState=" + strings.Repeat("A", 4*n) },
	} {
		growthtest.Linear(t, name, 10_000, func(n int) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/auth/saml/"+s.A.ID+"/acs", strings.NewReader(form(n)))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = ""
			s.Server.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
}
