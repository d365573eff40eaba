package ssotest

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

// NewZitadel starts the OpenID provider of github.com/zitadel/oidc, which is certified by the OpenID Foundation, with the client orgops,
// whose secret is s3cret, and a user who logs in with a password. It rotates refresh tokens.
func NewZitadel(t testing.TB, redirect string) *httptest.Server {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	clients := map[string]*storage.Client{"orgops": storage.WebClient("orgops", "s3cret", redirect)}
	known := storage.NewStorageWithClients(storage.NewUserStore(server.URL), clients)
	handler = exampleop.SetupServer(server.URL, known, slog.New(slog.DiscardHandler), false)
	return server
}

// LogIn plays the user's browser at the provider of NewZitadel, until the provider leads back to redirect.
func LogIn(t testing.TB, at *url.URL, redirect string) *url.URL {
	t.Helper()
	jar, err := cookiejar.New(nil)
	errtest.Must(t, err)
	var back *url.URL
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), redirect) {
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
