package sso_test

import (
	"net/url"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/suspension"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
)

// navigates is what a browser accepts that goes to an address.
const navigates = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"

const signInPage = base + "/console/index.html#/sso?refused="

// TestRefused brings answers that are refused to the callback, as a browser and as API clients do. The browser comes back to
// the console's sign-in page with a fixed code.
func TestRefused(t *testing.T) {
	t.Parallel()
	const secret = "<script>from outside</script>"
	tests := []struct {
		name    string
		prepare func(*service, *ssotest.Provider)
		answer  func(*url.URL)
		code    string
		status  int
		kind    string
	}{
		{"no sign-in", nil, func(u *url.URL) { u.RawQuery = url.Values{"state": {secret}, "code": {"x"}}.Encode() }, "again", 401, "unauthenticated"},
		{"the provider's error", nil, func(u *url.URL) {
			q := u.Query()
			u.RawQuery = url.Values{"state": q["state"], "error": {secret}, "error_description": {secret}}.Encode()
		}, "refused", 401, "unauthenticated"},
		{"an address that is not verified", func(_ *service, p *ssotest.Provider) { p.Claims = object{"email_verified": false} }, nil, "forbidden", 403, "forbidden"},
		{"no role", func(s *service, p *ssotest.Provider) {
			s.configure(configOf(p), object{"roles": object{"claim": "groups", "map": []object{{"value": "admins", "role": "operator"}}, "default": "none"}}).Want(200)
		}, nil, "forbidden", 403, "forbidden"},
		{"another plan", nil, func(*url.URL) {}, "plan", 403, "plan-required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for accept, page := range map[string]bool{navigates: true, "application/problem+json, text/html": false} {
				s, p := setup(t), ssotest.NewProvider(t)
				s.configure(configOf(p), nil).Want(200)
				if tt.prepare != nil {
					tt.prepare(s, p)
				}
				b := s.browser()
				answer := p.Authorize(b.start(nil))
				if tt.answer != nil {
					tt.answer(answer)
				}
				if tt.code == "plan" {
					s.plan(company.DefaultPlan)
				}
				got := b.send("GET", "/auth/sso/callback?"+answer.RawQuery, nil, "Accept", accept)
				if !page {
					got.WantProblem(tt.status, tt.kind)
					continue
				}
				got.Want(302)
				if is := got.Header.Get("Location"); is != signInPage+tt.code {
					t.Errorf("the browser is led to %q, want %q", is, signInPage+tt.code)
				}
				if want := map[bool][]int{true: {tt.status}, false: nil}[tt.code != "again"]; !gocmp.Equal(want, s.refusals()) {
					t.Errorf("statuses of the audit records of refusals = %v, want %v", s.refusals(), want)
				}
			}
		})
	}
}

// refusals lists the statuses of the records of sign-ins of company A that were refused.
func (s *service) refusals() []int {
	s.t.Helper()
	page, err := store.For(s.Store, s.A.ID).Query(s.t.Context(), store.Query{Prefix: audit.Prefix})
	errtest.Must(s.t, err)
	var statuses []int
	for _, item := range page.Items {
		var r audit.Record
		errtest.Must(s.t, item.Decode(&r))
		if strings.HasPrefix(r.Operation, "finish-") && r.Outcome == "denied" {
			statuses = append(statuses, r.Status)
		}
	}
	return statuses
}

// A client that has a redirect of its own gets the error of the authorization code flow there, with its state.
func TestRefused_Client(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	p.Claims = object{"email_verified": false}
	b := s.browser()
	answer := p.Authorize(b.start(url.Values{"redirect_uri": {redirect}}))
	got := b.send("GET", "/auth/sso/callback?"+answer.RawQuery, nil, "Accept", navigates).Want(302)
	if want := redirect + "?error=access_denied&state=client-state"; got.Header.Get("Location") != want {
		t.Errorf("the browser is led to %q, want %q", got.Header.Get("Location"), want)
	}
	// Without the cookie of the start, the sign-in of another browser does not lead to its redirect.
	answer = p.Authorize(s.browser().start(url.Values{"redirect_uri": {redirect}}))
	other := s.browser().send("GET", "/auth/sso/callback?"+answer.RawQuery, nil, "Accept", navigates).Want(302)
	if got := other.Header.Get("Location"); got != signInPage+"again" {
		t.Errorf("another browser is led to %q, want %q", got, signInPage+"again")
	}
}

// A stranger who makes a state up is led to the same end for a suspended company as for an unknown one.
func TestRefused_Suspended(t *testing.T) {
	t.Parallel()
	s := setup(t)
	_, err := suspension.Suspend(t.Context(), store.For(s.Store, s.A.ID), "unpaid", s.now())
	errtest.Must(t, err)
	for _, companyID := range []string{s.A.ID, "0198c5f2-7a00-7000-8000-00000000000b"} {
		got := s.browser().send("GET", "/auth/sso/callback?"+url.Values{"state": {companyID + ".ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, "code": {"x"}}.Encode(), nil, "Accept", navigates).Want(302)
		if is := got.Header.Get("Location"); is != signInPage+"again" {
			t.Errorf("the browser is led to %q, want %q", is, signInPage+"again")
		}
	}
}

// A refused SAML response leads the browser back too.
func TestRefused_SAML(t *testing.T) {
	t.Parallel()
	s := setup(t)
	path := "/auth/saml/" + s.A.ID + "/acs"
	for accept, status := range map[string]int{navigates: 302, "": 401, "*/*": 401, "application/json": 401, "text/html": 302} {
		body := url.Values{"SAMLResponse": {"bm9uZQ=="}, "RelayState": {"none"}}.Encode()
		got := s.browser().send("POST", path, body, "Accept", accept, "Content-Type", "application/x-www-form-urlencoded").Want(status)
		if is := got.Header.Get("Location"); status == 302 && is != signInPage+"again" {
			t.Errorf("the browser is led to %q, want %q", is, signInPage+"again")
		}
	}
}
