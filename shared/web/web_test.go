package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/version"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// harness serves a few operations of each kind, with a signer for tokens and a log.
type harness struct {
	*web.Server
	signer *token.Signer
	log    *bytes.Buffer
}

type thing struct {
	Name  string   `json:"name" minLength:"1"`
	URL   string   `json:"url,omitempty" format:"uri"`
	Count int      `json:"count,omitempty" maximum:"10"`
	Tags  []string `json:"tags,omitempty" maxItems:"2" uniqueItems:"true"`
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	return newHarnessWith(t, web.Options{})
}

// newHarnessWith makes a harness with opts, completed for tests.
func newHarnessWith(t testing.TB, opts web.Options) *harness {
	t.Helper()
	key, err := token.NewKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	config := token.Config{Issuer: "https://issuer.test", Audience: "orgops"}
	keys := token.KeySet{Current: key}
	h := &harness{signer: token.NewSigner(config, keys), log: &bytes.Buffer{}}
	opts.Title, opts.Build, opts.Verifier = "Test", version.Build{Release: "1"}, token.NewVerifier(config, keys.Public())
	opts.Tenant = func(company string) store.Company { return store.For(nil, company) }
	opts.Logger = slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.Server = web.New(opts)
	h.register()
	return h
}

func (h *harness) register() {
	op := func(id, method, path string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/companies/{companyId}" + path, Security: web.Needs("things:read")}
	}
	web.Register(h.API(), op("read", "GET", "/thing/{tid}"), func(ctx context.Context, in *struct {
		TID string `path:"tid"`
		web.IfNoneMatch
	}) (*web.Tagged[thing], error) {
		return web.Respond(in.IfNoneMatch, web.ETag("7"), func() (thing, error) {
			return thing{Name: web.Tenant(ctx).ID() + " " + web.CallerOf(ctx).UserID + " " + in.TID}, nil
		})
	})
	web.Register(h.API(), op("list", "GET", "/things"), func(ctx context.Context, in *struct {
		web.PageQuery
		Kind    string    `query:"kind"`
		Subject string    `query:"subject" pattern:"^[a-z]+$"`
		Since   time.Time `query:"since"`
	}) (*web.PageOutput[thing], error) {
		after, err := in.After(ctx, in.Kind)
		if err != nil {
			return nil, err
		}
		if after != "" {
			return web.NewPage[thing](ctx, nil, "", in.Kind), nil
		}
		return web.NewPage(ctx, make([]thing, in.Size()), "KEY#1", in.Kind), nil
	})
	web.Register(h.API(), op("write", "POST", "/things"), func(_ context.Context, in *struct{ Body thing }) (*struct{ Body thing }, error) {
		return &struct{ Body thing }{in.Body}, nil
	})
	web.Register(h.API(), op("patch", "PATCH", "/things/one"), func(_ context.Context, in *struct{ Body thing }) (*struct{ Body thing }, error) {
		return &struct{ Body thing }{in.Body}, nil
	})
	web.Register(h.API(), op("change", "PUT", "/things"), func(_ context.Context, in *struct {
		web.IfMatch
	}) (*struct{}, error) {
		return nil, in.Check("7")
	})
	web.Register(h.API(), op("path", "GET", "/path"), func(ctx context.Context, _ *struct{}) (*struct {
		Location string `header:"Location"`
	}, error) {
		return &struct {
			Location string `header:"Location"`
		}{web.CompanyPath(ctx) + "/here"}, nil
	})
	web.Register(h.API(), web.Public(huma.Operation{
		OperationID: "fail", Method: "GET", Path: "/fail/{how}", Responses: map[string]*huma.Response{"404": {Description: "Told in words alone"}},
	}), fail)
}

func nothing(context.Context, *struct{}) (*struct{}, error) { return nil, nil }

func fail(_ context.Context, in *struct {
	How string `path:"how"`
}) (*struct{}, error) {
	switch in.How {
	case "panic":
		panic("secret in a panic")
	case "plain":
		return nil, errors.New("secret connection string")
	case "unavailable":
		return nil, store.Fault(store.ErrUnavailable, "")
	case "away":
		return nil, fmt.Errorf("read the context: %w", store.ErrUnavailable)
	case "lost":
		return nil, fmt.Errorf("write the context: %w", store.ErrUnknown)
	case "notfound":
		return nil, fault.Newf(fault.NotFound, "no %s", "thing")
	}
	return nil, nil
}

func (h *harness) token(t testing.TB, company string, scopes ...string) string {
	t.Helper()
	text, err := h.signer.Issue(token.Claims{Subject: "u1", Company: company, Plan: "free", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (h *harness) do(method, path, bearer, body string, headers ...string) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func problem(t *testing.T, w *httptest.ResponseRecorder) web.Problem {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type = %q, want application/problem+json: %s", got, w.Body)
	}
	var p web.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if p.Status != w.Code {
		t.Errorf("problem's status = %d, want the answer's, %d", p.Status, w.Code)
	}
	if want := "urn:uuid:" + w.Header().Get("X-Request-Id"); p.Instance != want {
		t.Errorf("problem's instance = %q, want %q", p.Instance, want)
	}
	return p
}

func TestServer_Guard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := h.token(t, "a", "things:read")
	tests := []struct {
		name, path, bearer string
		status             int
		kind, challenge    string
	}{
		{"no token", "/companies/a/thing/1", "", 401, "unauthenticated", "Bearer"},
		{"bad token", "/companies/a/thing/1", "x.y.z", 401, "unauthenticated", `Bearer error="invalid_token"`},
		{"own", "/companies/a/thing/1", own, 200, "", ""},
		{"own, escaped", "/companies/%61/thing/1", own, 200, "", ""},
		{"foreign", "/companies/b/thing/1", own, 403, "forbidden", ""},
		{"escaped twice", "/companies/%2561/thing/1", own, 403, "forbidden", ""},
		{"not an id", "/companies/a%2Fb/thing/1", own, 403, "forbidden", ""},
		{"no scope", "/companies/a/thing/1", h.token(t, "a", "other:read"), 403, "insufficient-scope", `Bearer error="insufficient_scope", scope="things:read"`},
		{"foreign and no scope", "/companies/b/thing/1", h.token(t, "a"), 403, "forbidden", ""},
		{"unknown path", "/companies/a/nothing", own, 404, "not-found", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := h.do("GET", tt.path, tt.bearer, "")
			if w.Code != tt.status {
				t.Fatalf("status = %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if got := w.Header().Get("WWW-Authenticate"); got != tt.challenge {
				t.Fatalf("WWW-Authenticate = %q, want %q", got, tt.challenge)
			}
			if tt.kind == "" {
				if !strings.Contains(w.Body.String(), "a u1 1") {
					t.Errorf("the answer lacks the tenant or the caller: %s", w.Body)
				}
				return
			}
			if p := problem(t, w); p.Type != "/problems/"+tt.kind {
				t.Errorf("type = %q, want /problems/%s", p.Type, tt.kind)
			}
		})
	}
}

func TestServer_Register(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		op   huma.Operation
	}{
		{"no scope", huma.Operation{Path: "/companies/{companyId}/x"}},
		{"no scope named", huma.Operation{Path: "/companies/{companyId}/x", Security: web.Needs()}},
		{"not marked public", huma.Operation{Path: "/x"}},
		{"guarded outside a company", huma.Operation{Path: "/x", Security: web.Needs("a:b")}},
		{"public inside a company", web.Public(huma.Operation{Path: "/companies/{companyId}/x"})},
		{"another parameter", huma.Operation{Path: "/companies/{company}/x", Security: web.Needs("a:b")}},
		{"hidden", huma.Operation{Path: "/x", Hidden: true}},
	}
	for _, tt := range tests {
		tt.op.Method, tt.op.OperationID = "GET", "x"
		for name, register := range map[string]func(){
			"at once":   func() { huma.Register(newHarness(t).API(), tt.op, nothing) },
			"on demand": func() { web.Register(newHarnessWith(t, web.Options{OnDemand: true}).API(), tt.op, nothing) },
		} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				t.Parallel()
				defer func() {
					if recover() == nil {
						t.Error("the operation was registered, want a panic")
					}
				}()
				register()
			})
		}
	}
}

func TestServer_Failures(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := h.token(t, "a", "things:read")
	const things = "/companies/a/things"
	big := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
	exact := `{"name":"` + strings.Repeat("x", 1<<20-11) + `"}`
	tests := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		kind, contains           string
	}{
		{"plain error", "GET", "/fail/plain", "", nil, 500, "internal", "internal error"},
		{"panic", "GET", "/fail/panic", "", nil, 500, "internal", "internal error"},
		{"fault", "GET", "/fail/notfound", "", nil, 404, "not-found", "no thing"},
		{"unavailable", "GET", "/fail/unavailable", "", nil, 503, "unavailable", ""},
		{"a store that is away, which the handler did not expect", "GET", "/fail/away", "", nil, 503, "unavailable", "retry later"},
		{"a write of unknown outcome, which the handler did not expect", "GET", "/fail/lost", "", nil, 503, "unavailable", "may or may not"},
		{"method", "DELETE", things, "", nil, 405, "method-not-allowed", ""},
		{"no body", "POST", things, "", nil, 400, "malformed", "body is required"},
		{"not JSON", "POST", things, `{"name":`, nil, 400, "malformed", "syntax error at byte 8"},
		{"a byte order mark", "POST", things, "\uFEFF" + `{"name":"x"}`, nil, 200, "", ""},
		{"a whole number with a fraction", "POST", things, `{"name":"x","count":9.0}`, nil, 200, "", ""},
		{"a whole number with an exponent", "POST", things, `{"name":"x","count":1e1}`, nil, 200, "", ""},
		{"trailing", "POST", things, `{"name":"x"} y`, nil, 400, "malformed", "syntax error"},
		{"not UTF-8", "POST", things, "{\"name\":\"\xff\"}", nil, 400, "malformed", "UTF-8"},
		{"type", "POST", things, `{"name":"x"}`, []string{"Content-Type", "text/plain"}, 415, "unsupported-media-type", ""},
		{"form", "POST", things, `{"name":"x"}`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported-media-type", ""},
		{"too large", "POST", things, big, nil, 413, "too-large", "1048576"},
		{"unknown field", "POST", things, `{"name":"x","colour":"red"}`, nil, 422, "invalid", `"/colour"`},
		{"other case", "POST", things, `{"name":"x","Name":""}`, nil, 422, "invalid", `"/Name"`},
		{"a field where none is taken", "PUT", things, `{"name":"x"}`, nil, 422, "invalid", `"/name"`},
		{"a list where no body is taken", "PUT", things, `[1]`, nil, 400, "malformed", ""},
		{"half of a character", "POST", things, `{"name":"\ud800"}`, nil, 400, "malformed", `"/name"`},
		{"half of a character where no body is taken", "PUT", things, `{"a":["\ud800"]}`, nil, 400, "malformed", `"/a/0"`},
		{"an empty object where no body is taken", "PUT", things, ` {} `, []string{"If-Match", `"8"`}, 412, "stale", ""},
		{"a query that is not UTF-8", "GET", things + "?kind=%ff", "", nil, 422, "invalid", `"#/query/kind"`},
		{"missing field", "POST", things, `{}`, nil, 422, "invalid", `"/name"`},
		{"all at once", "POST", things, `{"name":"","count":11}`, nil, 422, "invalid", `"/count"`},
		{"index", "POST", things, `{"name":"x","tags":["a",5]}`, nil, 422, "invalid", `"/tags/1"`},
		{"null for an optional member", "POST", things, `{"name":"x","url":null}`, nil, 200, "", ""},
		{"null in a PATCH", "PATCH", things + "/one", `{"name":"x","url":null}`, nil, 422, "invalid", `"/url"`},
		{"null among items", "POST", things, `{"name":"x","tags":[null]}`, nil, 422, "invalid", `"/tags/0"`},
		{"objects among items that must differ", "POST", things, `{"name":"x","tags":[{},[]]}`, nil, 422, "invalid", `"/tags/0"`},
		{"the same item twice", "POST", things, `{"name":"x","tags":["a","a"]}`, nil, 422, "invalid", `"/tags"`},
		{"no value where a form is asked for", "GET", things + "?subject=", "", nil, 422, "invalid", `"#/query/subject"`},
		{"wrong type", "POST", things, `[]`, nil, 422, "invalid", "expected object"},
		{"null", "POST", things, `null`, nil, 422, "invalid", "expected object"},
		{"value not echoed", "POST", things, `{"name":"x","url":"https://user:secret@%zz"}`, nil, 422, "invalid", `"/url"`},
		{"limit", "GET", things + "?limit=0", "", nil, 422, "invalid", "#/query/limit"},
		{"not a number", "GET", things + "?limit=secret", "", nil, 422, "invalid", "#/query/limit"},
		{"not a time", "GET", things + "?since=yesterday", "", nil, 422, "invalid", "expected string to be RFC 3339 date-time"},
		{"unknown parameter", "GET", things + "?limt=1", "", nil, 422, "invalid", "#/query/limt"},
		{"stale", "PUT", things, "", []string{"If-Match", `"6"`}, 412, "stale", ""},
		{"a longer version", "PUT", things, "", []string{"If-Match", `"77.41"`}, 412, "stale", ""},
		{"not a tag", "PUT", things, "", []string{"If-Match", `7`}, 412, "stale", ""},
		{"weak is not strong", "PUT", things, "", []string{"If-Match", `W/"7"`}, 412, "stale", ""},
		{"exactly the limit", "POST", things, exact, nil, 200, "", ""},
		{"json suffix", "POST", things, `{"name":"x"}`, []string{"Content-Type", "application/thing+json; charset=utf-8"}, 200, "", ""},
		{"no precondition", "PUT", things, "", nil, 204, "", ""},
		{"precondition", "PUT", things, "", []string{"If-Match", `"1", "7"`}, 204, "", ""},
		{"precondition on the version alone", "PUT", things, "", []string{"If-Match", `"7.41"`}, 204, "", ""},
		{"precondition on existence", "PUT", things, "", []string{"If-Match", "*"}, 204, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := h.do(tt.method, tt.path, own, tt.body, tt.headers...)
			if w.Code != tt.status {
				t.Fatalf("status = %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if !strings.Contains(w.Body.String(), tt.contains) {
				t.Fatalf("body = %s, want one with %s", w.Body, tt.contains)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("body = %s, want one without a secret", w.Body)
			}
			if tt.kind == "" {
				return
			}
			if p := problem(t, w); p.Type != "/problems/"+tt.kind {
				t.Errorf("type = %q, want /problems/%s", p.Type, tt.kind)
			}
		})
	}
}
