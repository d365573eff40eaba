// Package oauthtest serves an authorization server that rotates refresh tokens, as strict as RFC 9700 asks: a refresh token that is used
// again ends the grant. A test lets it fail, and lose answers.
package oauthtest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"orgops/shared/domain/sso"
	"orgops/shared/identity/application"
	"orgops/shared/testkit/errtest"
)

// The registration that the server knows.
const (
	ClientID     = "orgops"
	ClientSecret = "s3cret-of-the-operator"
)

// Server is the authorization server. A test changes its fields while no request is under way.
type Server struct {
	URL      string
	Lifetime int            // of access tokens, in seconds; 0: they do not expire
	Extra    map[string]any // members of token responses

	t       testing.TB
	mu      sync.Mutex
	codes   map[string]url.Values // the authorization requests of unused codes
	current string                // the refresh token that counts; "": the grant has ended
	access  string
	before  func(w http.ResponseWriter, r *http.Request) bool
	after   func() bool
	asked   []url.Values
	revoked []string
	away    bool
}

// New starts a server whose access tokens last an hour.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Lifetime: 3600, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Application returns the registration of a service with the server, whose tokens go to api.
func (s *Server) Application(api string) application.Application {
	return application.Application{ClientID: ClientID, ClientSecret: ClientSecret, Server: &application.Server{
		API: api, Authorization: s.URL + "/authorize", Token: s.URL + "/token", Revocation: s.URL + "/revoke",
	}}
}

// Allow plays a user who is led to an address and gives access: it returns the query with which the browser comes back.
func (s *Server) Allow(led *url.URL) url.Values {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	code := rand.Text()
	s.codes[code] = led.Query()
	return url.Values{"code": {code}, "state": {led.Query().Get("state")}, "iss": {s.URL}}
}

// Before lets f see each request for a token, and answer it in the server's place; nil ends that.
func (s *Server) Before(f func(w http.ResponseWriter, r *http.Request) (answered bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Lose lets f decide after each request for a token whether its answer gets lost; nil ends that.
func (s *Server) Lose(f func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = f
}

// End ends the grant, as a user does who removes the application.
func (s *Server) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.access = "", ""
}

// Away lets requests to revoke a token fail.
func (s *Server) Away(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// Access returns the access token that counts.
func (s *Server) Access() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access
}

// Asked returns the forms of the requests for tokens since the last call, and the tokens that were revoked.
func (s *Server) Asked() (asked []url.Values, revoked []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, revoked = s.asked, s.revoked
	s.asked, s.revoked = nil, nil
	return asked, revoked
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	errtest.Must(s.t, r.ParseForm())
	s.mu.Lock()
	before, after := s.before, s.after
	s.asked = append(s.asked, r.PostForm)
	s.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	if id != ClientID || secret != ClientSecret {
		s.answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	status, body := s.grant(r.PostForm)
	if after != nil && after() {
		panic(http.ErrAbortHandler) // the server has done its part, and the answer is lost
	}
	s.answer(w, status, body)
}

// grant decides on a request for a token.
func (s *Server) grant(form url.Values) (status int, body map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch form.Get("grant_type") {
	case "authorization_code":
		request, ok := s.codes[form.Get("code")]
		delete(s.codes, form.Get("code"))
		if !ok || sso.Challenge(form.Get("code_verifier")) != request.Get("code_challenge") || form.Get("redirect_uri") != request.Get("redirect_uri") {
			return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		}
	case "refresh_token":
		if s.current == "" || form.Get("refresh_token") != s.current {
			s.current, s.access = "", ""
			return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		}
	}
	s.current, s.access = "refresh-"+rand.Text(), "access-"+rand.Text()
	body = map[string]any{"access_token": s.access, "token_type": "bearer", "refresh_token": s.current}
	if s.Lifetime > 0 {
		body["expires_in"] = s.Lifetime
	}
	for name, value := range s.Extra {
		body[name] = value
	}
	return http.StatusOK, body
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	errtest.Must(s.t, r.ParseForm())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.revoked = append(s.revoked, r.PostForm.Get("token"))
	if r.PostForm.Get("token") == s.current {
		s.current, s.access = "", ""
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	errtest.Must(s.t, json.NewEncoder(w).Encode(body))
}
