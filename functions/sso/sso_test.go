package sso_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/functions/auth"
	"orgops/functions/sso"
	"orgops/shared/domain/company"
	domain "orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

const (
	base     = "https://orgops.test"
	former   = "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com/live"
	callback = base + "/auth/sso/callback"
	redirect = "https://dashboard.example.com/signed-in"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// service is the group with the group that exchanges codes, for two companies of which A has the plan enterprise.
type service struct {
	*webtest.Harness
	t      *testing.T
	passed *atomic.Int64 // nanoseconds that the service's clock is ahead
	before *hook
}

// hook is a store that runs a change before the next read of a key.
type hook struct {
	store.Store
	mu     sync.Mutex
	key    string
	change func()
}

// on sets the change.
func (h *hook) on(key string, change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.key, h.change = key, change
}

// Get implements store.Store.
func (h *hook) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	h.mu.Lock()
	change := h.change
	if key != h.key {
		change = nil
	}
	if change != nil {
		h.change = nil
	}
	h.mu.Unlock()
	if change != nil {
		change()
	}
	return h.Store.Get(ctx, p, key)
}

func setup(t *testing.T) *service {
	t.Helper()
	return setupWith(t, outbound.Options{AllowLoopback: true})
}

func setupWith(t *testing.T, egress outbound.Options) *service {
	t.Helper()
	h, passed := webtest.New(t), &atomic.Int64{}
	s := &service{h, t, passed, &hook{Store: h.Store}}
	now := s.now
	sso.Register(h.API(), sso.Deps{
		Store: s.before, Vault: h.Vault, Client: outbound.New(egress), Base: base, Former: former, Now: now,
		Logger: slog.New(slog.NewJSONHandler(h.Log, nil)),
	})
	auth.Register(h.API(), auth.Deps{Store: h.Store, Hasher: h.Hasher, Keys: token.AtHand{Signs: h.Signer, Verifies: h.Verifier.Keys}, Now: now})
	s.plan(domain.Plan)
	return s
}

// now returns the service's time.
func (s *service) now() time.Time { return time.Now().Add(time.Duration(s.passed.Load())) }

// plan gives company A a plan.
func (s *service) plan(plan string) {
	s.t.Helper()
	c := store.For(s.Store, s.A.ID)
	found, version, err := company.Get(s.t.Context(), c)
	errtest.Must(s.t, err)
	found.Plan = plan
	errtest.Must(s.t, c.Commit(s.t.Context(), c.Replace(company.Key, company.Entity, version, found)))
}

func (s *service) path() string { return "/companies/" + s.A.ID + "/operations/sso" }

type object = map[string]any

// configure stores company A's configuration. with replaces members of it.
func (s *service) configure(config, with object) *webtest.Response {
	s.t.Helper()
	body := object{}
	for _, members := range []object{config, with} {
		for name, value := range members {
			body[name] = value
		}
	}
	return s.Do("PUT", s.path(), s.A.Token, body)
}

// browser keeps the service's cookies, as a browser does for one site.
type browser struct {
	*service
	cookies map[string]string
}

func (s *service) browser() *browser { return &browser{s, map[string]string{}} }

// send sends a request with the cookies, and keeps those of the answer.
func (b *browser) send(method, path string, body any, headers ...string) *webtest.Response {
	b.t.Helper()
	var pairs []string
	for name, value := range b.cookies {
		pairs = append(pairs, name+"="+value)
	}
	r := b.Do(method, path, "", body, append(headers, "Cookie", strings.Join(pairs, "; "))...)
	for _, cookie := range (&http.Response{Header: r.Header}).Cookies() {
		b.cookies[cookie.Name] = cookie.Value
	}
	return r
}

// start begins a sign-in to company A and returns the address at the provider.
func (b *browser) start(with url.Values) *url.URL {
	b.t.Helper()
	query := url.Values{"code_challenge": {domain.Challenge(verifier)}, "code_challenge_method": {"S256"}, "state": {"client-state"}}
	for name, values := range with {
		query[name] = values
	}
	return location(b.t, b.send("GET", "/auth/sso/"+b.A.ID+"/start?"+query.Encode(), nil).Want(302))
}

func location(t *testing.T, r *webtest.Response) *url.URL {
	t.Helper()
	u, err := url.Parse(r.Header.Get("Location"))
	errtest.Must(t, err)
	return u
}

// finish brings the provider's answer to the callback.
func (b *browser) finish(answer *url.URL) *webtest.Response {
	b.t.Helper()
	return b.send("GET", "/auth/sso/callback?"+answer.RawQuery, nil)
}

// codeOf returns the code of a sign-in that ended in the console.
func codeOf(t *testing.T, r *webtest.Response) string {
	t.Helper()
	end := location(t, r.Want(302))
	path, query, _ := strings.Cut(end.Fragment, "?")
	if got, want := end.Scheme+"://"+end.Host+end.Path+"#"+path, base+"/console/index.html#/sso"; got != want {
		t.Fatalf("the sign-in ended at %s, want %s", got, want)
	}
	values, err := url.ParseQuery(query)
	errtest.Must(t, err)
	if got := values.Get("state"); got != "client-state" {
		t.Errorf("state = %q, want that of the client", got)
	}
	return values.Get("code")
}

func (s *service) exchange(code string, with object) *webtest.Response {
	s.t.Helper()
	body := object{"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
	for name, value := range with {
		body[name] = value
	}
	return s.Do("POST", "/auth/token", "", body)
}

// claims exchanges a code and returns the token's claims.
func (s *service) claims(code string) token.Claims {
	s.t.Helper()
	var got struct {
		AccessToken string `json:"access_token"`
	}
	s.exchange(code, nil).Want(200).JSON(&got)
	claims, err := s.Verifier.Verify(got.AccessToken)
	errtest.Must(s.t, err)
	return claims
}

// user returns a user of company A.
func (s *service) user(userID string) user.User {
	s.t.Helper()
	u, _, err := company.GetUser(s.t.Context(), store.For(s.Store, s.A.ID), userID)
	errtest.Must(s.t, err)
	return u
}

// change changes a user of company A, as an administrator does.
func (s *service) change(userID string, change company.Change) {
	s.t.Helper()
	c := store.For(s.Store, s.A.ID)
	u, version, err := company.GetUser(s.t.Context(), c, userID)
	errtest.Must(s.t, err)
	_, _, err = company.ChangeUser(s.t.Context(), s.Store, c, u, version, change, time.Now())
	errtest.Must(s.t, err)
}

func TestGuard(t *testing.T) {
	t.Parallel()
	webtest.GuardAll(t, setup(t).Harness)
}
