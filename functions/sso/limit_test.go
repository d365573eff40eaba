package sso_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"orgops/functions/sso"
)

// from sends a request from an address.
func (s *service) from(address, method, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader("SAMLResponse=&RelayState=x"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = address
	r.Header.Set("X-Forwarded-For", "192.0.2.99") // no proxy is trusted here
	w := httptest.NewRecorder()
	s.Server.ServeHTTP(w, r)
	return w
}

// TestSource_Limit bounds what one network begins and ends in a minute, for known and unknown companies, and no other network.
func TestSource_Limit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ method, path, policy string }{
		"start":    {http.MethodGet, "/auth/sso/0198c5f2-0000-7000-8000-000000000001/start?code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256", `"sign-in";q=60;w=60`},
		"callback": {http.MethodGet, "/auth/sso/callback?state=none.none&code=x", `"sign-in-answer";q=60;w=60`},
		"acs":      {http.MethodPost, "/auth/saml/0198c5f2-0000-7000-8000-000000000001/acs", `"sign-in-answer";q=60;w=60`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.passed.Store(int64(time.Until(time.Now().Truncate(time.Minute).Add(time.Hour)))) // a minute begins
			for n := range sso.MaxFromSource {
				if got := s.from("[2001:db8:0:1::1]:1024", tt.method, tt.path).Code; got == http.StatusTooManyRequests {
					t.Fatalf("request %d: status 429, want it within the limit", n+1)
				}
			}
			refused := s.from("[2001:db8:0:1:ffff::2]:4096", tt.method, tt.path)
			if refused.Code != http.StatusTooManyRequests {
				t.Fatalf("status = %d, want 429: %s", refused.Code, refused.Body)
			}
			for _, header := range []string{"Retry-After", "RateLimit"} {
				if refused.Header().Get(header) == "" {
					t.Errorf("no %s", header)
				}
			}
			if got := refused.Header().Get("RateLimit-Policy"); got != tt.policy {
				t.Errorf("RateLimit-Policy = %s, want %s", got, tt.policy)
			}
			if got := s.from("[2001:db8:0:2::1]:1024", tt.method, tt.path).Code; got == http.StatusTooManyRequests {
				t.Error("another network is refused too")
			}
			s.passed.Add(int64(time.Minute))
			if got := s.from("[2001:db8:0:1::1]:1024", tt.method, tt.path).Code; got == http.StatusTooManyRequests {
				t.Error("status 429 in the next minute")
			}
		})
	}
}
