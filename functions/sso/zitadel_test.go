package sso_test

import (
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"orgops/shared/testkit/errtest"
)

// zitadel starts the OpenID provider of github.com/zitadel/oidc, which is certified by the OpenID Foundation, with a user who
// logs in with a password.
func zitadel(t *testing.T) *httptest.Server {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	clients := map[string]*storage.Client{"orgops": storage.WebClient("orgops", "s3cret", callback)}
	known := storage.NewStorageWithClients(storage.NewUserStore(server.URL), clients)
	handler = exampleop.SetupServer(server.URL, known, nil, false)
	return server
}

// logIn plays the user's browser at the provider, until the provider leads back to the service.
func logIn(t *testing.T, at *url.URL) *url.URL {
	t.Helper()
	jar, err := cookiejar.New(nil)
	errtest.Must(t, err)
	var back *url.URL
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), callback) {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	page, err := client.Get(at.String())
	errtest.Must(t, err)
	errtest.Must(t, page.Body.Close())
	form := url.Values{"username": {"test-user@127.0.0.1"}, "password": {"verysecure"}, "id": {page.Request.URL.Query().Get("authRequestID")}}
	end, err := client.PostForm(page.Request.URL.String(), form)
	errtest.Must(t, err)
	errtest.Must(t, end.Body.Close())
	if back == nil {
		t.Fatalf("the provider ended at %s with %d, want it to lead back", end.Request.URL, end.StatusCode)
	}
	return back
}

// TestOIDC_Zitadel signs in at a real OpenID provider, which keeps the e-mail address for its UserInfo endpoint.
func TestOIDC_Zitadel(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the provider logs to it
	s := setup(t)
	config := object{"protocol": "oidc", "oidc": object{"issuer": zitadel(t).URL, "clientId": "orgops", "clientSecret": "s3cret"}}
	s.configure(config, nil).Want(200)
	b := s.browser()
	for range 2 {
		userID := s.claims(codeOf(t, b.finish(logIn(t, b.start(nil))))).Subject
		if got := s.user(userID).Email; got != "test-user@zitadel.ch" {
			t.Errorf("e-mail = %q, want that of the provider's user", got)
		}
	}
	config["oidc"].(object)["clientSecret"] = "wrong"
	s.configure(config, nil).Want(200)
	refusal(t, b.finish(logIn(t, b.start(nil))), 401)
}
