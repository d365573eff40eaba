// Package webtest tests route groups from the client's side, with a real server, a real store, two companies and their
// tokens.
package webtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/version"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/web"
)

// Password is both founders' password.
const Password = "correct horse battery staple"

// Harness holds a server without operations. Register a group on API, with Deps made from the fields, then call Do.
type Harness struct {
	t        testing.TB
	Server   *web.Server
	Store    *sqlitestore.Store
	Hasher   *password.Hasher
	Signer   *token.Signer
	Verifier *token.Verifier
	Vault    vault.Vault
	Log      *logtest.Log
	A, B     Tenant // two companies
	Memory   *Memory

	passed *atomic.Int64 // nanoseconds that the sessions' clock is ahead
}

// Tenant describes a company with its founder.
type Tenant struct {
	ID, UserID, Email string
	Token             string // the founder's access token, with every scope
}

// New makes a harness with its own store, which is closed at the end of the test.
func New(t testing.TB) *Harness {
	t.Helper()
	key, err := token.NewKey(nil)
	errtest.Must(t, err)
	config := token.Config{Issuer: "https://orgops.test", Audience: "orgops"}
	keys := token.KeySet{Current: key}
	h := &Harness{
		t: t, passed: &atomic.Int64{}, Store: OpenStore(t), Hasher: password.NewWith(password.Cost{Memory: 64, Passes: 1}), Log: &logtest.Log{}, Memory: &Memory{},
		Signer: token.NewSigner(config, keys), Verifier: token.NewVerifier(config, keys.Public()),
	}
	wrapper, err := vault.OpenFileKey(filepath.Join(t.TempDir(), "vault.key"))
	errtest.Must(t, err)
	h.Vault = vault.New(wrapper, vault.StoreKeys{Store: h.Store}, nil)
	sessions := user.NewSessions(func() time.Time { return time.Now().Add(time.Duration(h.passed.Load())) })
	h.Server = web.New(web.Options{
		Title: "test", Build: version.Build{Release: "test"}, Verifier: h.Verifier, Vault: h.Vault, Ended: sessions.Check, Audit: Record, Bodies: h.Memory,
		Tenant: func(companyID string) store.Company { return store.For(h.Store, companyID) },
		Logger: slog.New(slog.NewJSONHandler(h.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h.A, h.B = h.tenant("Acme", "ada@acme.test"), h.tenant("Beta", "bob@beta.test")
	return h
}

// Record returns the write of an audit record, as the service's server does.
func Record(c store.Company, a web.Audit, number int) store.Op {
	return audit.Write(c, audit.Record{
		At: a.At, Operation: a.Operation, Actor: audit.Actor{
			UserID: a.Caller.Person(), Role: a.Caller.Role, TokenID: a.Caller.TokenID, ClientID: a.Caller.Client, ExecutiveID: a.Caller.Executive,
		},
		Resource: a.Resource, Outcome: a.Outcome, Status: a.Status, RequestID: a.RequestID, Network: a.Network, Omitted: a.Omitted,
	}, number)
}

func (h *Harness) tenant(name, email string) Tenant {
	h.t.Helper()
	p, err := company.Provision(context.Background(), h.Store, h.Hasher,
		company.New{Name: name, Email: email, Password: Password}, time.Now())
	errtest.Must(h.t, err)
	return Tenant{ID: p.CompanyID, UserID: p.UserID, Email: email, Token: h.issue(p.CompanyID, p.UserID, user.Founder.Scopes())}
}

// Forget lets time pass until the guard reads again which tokens have been ended.
func (h *Harness) Forget() { h.passed.Add(int64(5 * time.Second)) }

// In returns the harness for a subtest, so that a failure ends the subtest.
func (h *Harness) In(t testing.TB) *Harness {
	in := *h
	in.t = t
	return &in
}

// API returns the API that a group registers on.
func (h *Harness) API() huma.API { return h.Server.API() }

// Token issues a company's token with exactly these scopes. The user is "u-test" unless the company is A or B.
func (h *Harness) Token(companyID string, scopes ...string) string {
	h.t.Helper()
	return h.issue(companyID, h.userOf(companyID), scopes)
}

// BoundToken issues a company's token with every scope that reaches one integration alone.
func (h *Harness) BoundToken(companyID, provider string) string {
	h.t.Helper()
	return h.sign(token.Claims{Subject: h.userOf(companyID), Company: companyID, Provider: provider, Scopes: user.Founder.Scopes()})
}

// UserToken issues a token of a user with the role and its scopes, as a login does.
func (h *Harness) UserToken(companyID, userID string, role user.Role) string {
	h.t.Helper()
	return h.Signed(companyID, userID, role, 0)
}

// Signed issues such a token of a generation, which a login has after the user's earlier tokens were ended.
func (h *Harness) Signed(companyID, userID string, role user.Role, generation int64) string {
	h.t.Helper()
	return h.sign(token.Claims{Subject: userID, Company: companyID, Role: string(role), Scopes: role.Scopes(), Generation: generation})
}

func (h *Harness) issue(companyID, userID string, scopes []string) string {
	h.t.Helper()
	return h.sign(token.Claims{Subject: userID, Company: companyID, Scopes: scopes})
}

func (h *Harness) sign(c token.Claims) string {
	h.t.Helper()
	c.Plan = company.DefaultPlan
	text, err := h.Signer.Issue(c)
	errtest.Must(h.t, err)
	return text
}

func (h *Harness) userOf(companyID string) string {
	for _, tenant := range []Tenant{h.A, h.B} {
		if tenant.ID == companyID {
			return tenant.UserID
		}
	}
	return "u-test"
}

// Do sends one request. It sends no body for nil, a string unchanged, and any other value as JSON. headers are pairs of
// name and value.
func (h *Harness) Do(method, path, bearer string, body any, headers ...string) *Response {
	h.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		errtest.Must(h.t, err)
		reader = bytes.NewReader(text)
	}
	r := httptest.NewRequest(method, path, reader)
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.Server.ServeHTTP(w, r)
	if size := headerBytes(w.Header()); size > maxHeaders {
		h.t.Errorf("%s %s was answered with %d bytes of headers, want at most %d: API Gateway passes on 10,240", method, path, size, maxHeaders)
	}
	return &Response{t: h.t, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(), request: method + " " + path}
}

// maxHeaders limits the headers of an answer, to 80 % of what API Gateway passes on.
const maxHeaders = 8192

// headerBytes returns the size of headers as they are written.
func headerBytes(all http.Header) (size int) {
	for name, values := range all {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	return size
}

// Response holds an answer.
type Response struct {
	t       testing.TB
	Status  int
	Header  http.Header
	Body    []byte
	request string
}

// Want ends the test unless the answer has this status.
func (r *Response) Want(status int) *Response {
	r.t.Helper()
	if r.Status != status {
		r.t.Fatalf("%s: status = %d, want %d: %s", r.request, r.Status, status, r.Body)
	}
	return r
}

// JSON decodes the body into v, and ends the test if it is not JSON.
func (r *Response) JSON(v any) *Response {
	r.t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		r.t.Fatalf("%s: %v: %s", r.request, err, r.Body)
	}
	return r
}

// WantProblem ends the test unless the answer is a problem document of this status and kind.
func (r *Response) WantProblem(status int, kind string) web.Problem {
	r.t.Helper()
	var p web.Problem
	r.Want(status).JSON(&p)
	if want := "/problems/" + kind; p.Type != want {
		r.t.Fatalf("%s: type = %q, want %q", r.request, p.Type, want)
	}
	if got, want := r.Header.Get("Content-Type"), "application/problem+json"; got != want {
		r.t.Fatalf("%s: Content-Type = %q, want %q", r.request, got, want)
	}
	return p
}
