package sso_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	domain "orgops/shared/domain/sso"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/web"
)

// at sends a GET to the service at the address with a base path.
func (s *service) at(basePath, path string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	w := httptest.NewRecorder()
	s.Server.ServeHTTP(w, r.WithContext(web.WithBasePath(r.Context(), basePath)))
	return w
}

// TestAddresses begins sign-ins at the service's address and at its former one. Each leads the provider back to where it began,
// because the provider knows the address that was registered with it.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	start := "/auth/sso/" + s.A.ID + "/start?code_challenge_method=S256&code_challenge=" + domain.Challenge(verifier)
	for _, tt := range []struct{ name, basePath, want string }{
		{"its own", "", base},
		{"the generated one", "/live", former},
		{"an unknown one", "/other", base},
	} {
		led, err := url.Parse(s.at(tt.basePath, start).Header().Get("Location"))
		errtest.Must(t, err)
		if got, want := led.Query().Get("redirect_uri"), tt.want+"/auth/sso/callback"; got != want {
			t.Errorf("%s: the provider leads back to %q, want %q", tt.name, got, want)
		}
		metadata := s.at(tt.basePath, "/auth/saml/"+s.A.ID+"/metadata").Body.String()
		for _, want := range []string{`entityID="` + tt.want + "/auth/saml/", `Location="` + tt.want + "/auth/saml/"} {
			if !strings.Contains(metadata, want) {
				t.Errorf("%s: the metadata are %s, want them with %s", tt.name, metadata, want)
			}
		}
	}
}
