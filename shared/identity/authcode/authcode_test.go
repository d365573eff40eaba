package authcode_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/authcode"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
)

const redirect = "https://orgops.test/auth/connect/callback"

var client = authcode.Client{ID: "orgops", Secret: "s3cret", Redirect: redirect}

// serverAt describes the server of ssotest.NewZitadel.
func serverAt(address string) authcode.Server {
	return authcode.Server{
		Issuer: address, Authorization: address + "/auth", Token: address + "/oauth/token", Revocation: address + "/revoke", Basic: true,
		Scopes: []string{"openid", "offline_access"},
	}
}

// TestServer_Zitadel gets, refreshes and revokes tokens of a real authorization server, which rotates refresh tokens.
func TestServer_Zitadel(t *testing.T) {
	t.Parallel()
	at := ssotest.NewZitadel(t, redirect)
	s, verifier := serverAt(at.URL), authcode.NewVerifier()
	led, err := url.Parse(s.Begin(client, "the-state", verifier))
	errtest.Must(t, err)
	back := ssotest.LogIn(t, led, redirect).Query()
	if got := back.Get("state"); got != "the-state" {
		t.Errorf("state = %q, want that of the start", got)
	}
	answer := authcode.Answer{Code: back.Get("code")}
	first, err := s.Finish(t.Context(), at.Client(), client, answer, verifier)
	errtest.Must(t, err)
	if first.Lifetime <= 0 {
		t.Errorf("the access token lasts %v, want it to expire", first.Lifetime)
	}
	second, err := s.Refresh(t.Context(), at.Client(), client, first.Refresh)
	errtest.Must(t, err)
	if second.Refresh == first.Refresh {
		t.Error("the refresh gave the former refresh token, want a new one")
	}
	if _, err := s.Refresh(t.Context(), at.Client(), client, first.Refresh); !errors.Is(err, authcode.ErrGrant) {
		t.Errorf("a refresh token again: %v, want %v", err, authcode.ErrGrant)
	}
	errtest.Must(t, s.Revoke(t.Context(), at.Client(), client, second.Refresh, "refresh_token"))
	if _, err := s.Refresh(t.Context(), at.Client(), client, second.Refresh); !errors.Is(err, authcode.ErrGrant) {
		t.Errorf("a revoked refresh token: %v, want %v", err, authcode.ErrGrant)
	}
}

// TestServer_Zitadel_Refused refuses a code with another verifier, a code again, and a wrong secret.
func TestServer_Zitadel_Refused(t *testing.T) {
	t.Parallel()
	at := ssotest.NewZitadel(t, redirect)
	s := serverAt(at.URL)
	code := func(verifier string) authcode.Answer {
		t.Helper()
		led, err := url.Parse(s.Begin(client, "state", verifier))
		errtest.Must(t, err)
		return authcode.Answer{Code: ssotest.LogIn(t, led, redirect).Query().Get("code")}
	}
	verifier := authcode.NewVerifier()
	_, err := s.Finish(t.Context(), at.Client(), client, code(verifier), authcode.NewVerifier())
	if !errors.Is(err, authcode.ErrGrant) {
		t.Errorf("another verifier: %v, want %v", err, authcode.ErrGrant)
	}
	used := code(verifier)
	_, err = s.Finish(t.Context(), at.Client(), client, used, verifier)
	errtest.Must(t, err)
	if _, err := s.Finish(t.Context(), at.Client(), client, used, verifier); err == nil {
		t.Error("a code again: no error")
	}
	wrong := client
	wrong.Secret = "wrong"
	if _, err := s.Finish(t.Context(), at.Client(), wrong, code(verifier), verifier); !errors.Is(err, authcode.ErrClient) {
		t.Errorf("a wrong secret: %v, want %v", err, authcode.ErrClient)
	}
}

// TestServer_Finish_Issuer refuses the answer of another authorization server, before it sends the code anywhere.
func TestServer_Finish_Issuer(t *testing.T) {
	t.Parallel()
	asked := 0
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token": "a", "token_type": "bearer"}`)
	}))
	t.Cleanup(at.Close)
	for _, tt := range []struct {
		name, iss string
		names, ok bool
	}{
		{"its own", at.URL, false, true},
		{"none", "", false, true},
		{"none, of a server that names itself", "", true, false},
		{"another", "https://evil.example", false, false},
	} {
		before := asked
		s := authcode.Server{Authorization: at.URL + "/authorize", Token: at.URL + "/token", NamesIssuer: tt.names}
		_, err := s.Finish(t.Context(), at.Client(), client, authcode.Answer{Code: "c", Issuer: tt.iss}, "v")
		if (err == nil) != tt.ok {
			t.Errorf("%s: error %v, want none: %t", tt.name, err, tt.ok)
		}
		if got := asked - before; !tt.ok && got != 0 {
			t.Errorf("%s: the code was sent %d times, want 0", tt.name, got)
		}
	}
}

// TestServer_Refresh tells what a token endpoint's answer means. No error quotes the answer.
func TestServer_Refresh(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   error // nil: an error that may pass
	}{
		{"invalid_grant", 400, `{"error": "invalid_grant", "error_description": "s3cret-echo"}`, authcode.ErrGrant},
		{"Slack", 200, `{"ok": false, "error": "invalid_refresh_token"}`, authcode.ErrGrant},
		{"GitHub", 200, `{"error": "bad_refresh_token"}`, authcode.ErrGrant},
		{"HubSpot", 400, `{"status": "BAD_REFRESH_TOKEN", "message": "s3cret-echo"}`, authcode.ErrGrant},
		{"invalid_client", 401, `{"error": "invalid_client", "error_description": "s3cret-echo"}`, authcode.ErrClient},
		{"no server", 503, `s3cret-echo`, nil},
		{"too many", 429, `{"error": "slow_down"}`, nil},
		{"not JSON", 200, `<html>s3cret-echo`, nil},
		{"no token", 200, `{"note": "s3cret-echo"}`, nil},
	} {
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		}))
		t.Cleanup(at.Close)
		_, err := authcode.Server{Token: at.URL}.Refresh(t.Context(), at.Client(), client, "r")
		if err == nil {
			t.Errorf("%s: no error", tt.name)
		}
		if got, want := errors.Is(err, authcode.ErrGrant), errors.Is(tt.want, authcode.ErrGrant); got != want {
			t.Errorf("%s: error %v is a refused grant: %t, want %t", tt.name, err, got, want)
		}
		if got, want := errors.Is(err, authcode.ErrClient), errors.Is(tt.want, authcode.ErrClient); got != want {
			t.Errorf("%s: error %v is a refused client: %t, want %t", tt.name, err, got, want)
		}
		if said := errtest.Message(err); strings.Contains(said, "echo") {
			t.Errorf("%s: error %q, want one without the answer's text", tt.name, said)
		}
	}
}

// TestServer_Refresh_Kept keeps the refresh token of a server that does not rotate, and reads how long the tokens last.
func TestServer_Refresh_Kept(t *testing.T) {
	t.Parallel()
	var sent url.Values
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		sent, _ = url.ParseQuery(string(raw))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token": "a", "expires_in": 1800, "refresh_token_expires_in": 86400}`)
	}))
	t.Cleanup(at.Close)
	got, err := authcode.Server{Token: at.URL}.Refresh(t.Context(), at.Client(), client, "kept")
	errtest.Must(t, err)
	got.Extra = nil
	want := authcode.Token{Access: "a", Refresh: "kept", Lifetime: 30 * time.Minute, RefreshUntil: 24 * time.Hour}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens differ (-want +got):\n%s", diff)
	}
	if got := sent.Get("client_secret"); got != client.Secret {
		t.Errorf("client_secret = %q, want that of the registration in the form", got)
	}
}
