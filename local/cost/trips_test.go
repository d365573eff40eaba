package cost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions"
	"orgops/local/process"
	"orgops/shared/boot"
	"orgops/shared/company"
	"orgops/shared/config"
	"orgops/shared/store"
	"orgops/shared/webhook"
)

// trips counts what an operation asks of the store.
type trips struct{ Gets, Queries, Commits, Ops int64 }

// counting is a store that counts.
type counting struct {
	store.Store
	gets, queries, commits, ops atomic.Int64
}

func (c *counting) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, p, key)
}

func (c *counting) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	c.queries.Add(1)
	return c.Store.Query(ctx, p, q)
}

func (c *counting) Commit(ctx context.Context, ops ...store.Op) error {
	c.commits.Add(1)
	c.ops.Add(int64(len(ops)))
	return c.Store.Commit(ctx, ops...)
}

// take is what was counted since the last take.
func (c *counting) take() trips {
	return trips{c.gets.Swap(0), c.queries.Swap(0), c.commits.Swap(0), c.ops.Swap(0)}
}

// bench is every route group over a counting store, without workers: what a request costs is the request's alone.
type bench struct {
	handler http.Handler
	store   *counting
	company string
	token   string
}

const secret = "whsec_dHJpcHMgdHJpcHMgdHJpcHMgdHJpcHMgdHJpcHMgdHI="

func open(t testing.TB) *bench {
	t.Helper()
	backend, err := process.OpenEmbedded(t.Context(), t.TempDir(), true, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{store: &counting{Store: backend.Store}}
	parts := backend.Backend
	parts.Store = b.store
	services, err := boot.New(config.Config{Issuer: "trips", Audience: "trips"}, parts, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server := services.Web("test")
	for _, g := range functions.Groups() {
		g.Register(server.API(), services)
	}
	b.handler = server
	made, err := company.Provision(t.Context(), services.Store, services.Hasher, company.New{Name: "Acme", Email: "ada@example.com", Password: "correct horse battery"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b.company = made.CompanyID
	var login struct {
		Token string `json:"access_token"`
	}
	b.call(t, 200, "POST", "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`, nil, &login)
	b.token = login.Token
	return b
}

func (b *bench) call(t testing.TB, want int, method, path, body string, header http.Header, into any) {
	t.Helper()
	r := httptest.NewRequest(method, strings.ReplaceAll(path, "{id}", b.company), bytes.NewReader([]byte(body)))
	r.Header.Set("Content-Type", "application/json")
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != want {
		t.Fatalf("%s %s: %d, want %d: %s %v", method, path, w.Code, want, answer, err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Fatal(err)
		}
	}
}

// inbound posts a signed delivery with one action.
func (b *bench) inbound(t testing.TB, id string) {
	t.Helper()
	body := `{"type":"memory.upsert","data":{"externalId":"` + id + `","kind":"ticket","title":"Printer on fire"}}`
	signer, err := webhook.NewSigner([]string{secret})
	if err != nil {
		t.Fatal(err)
	}
	b.call(t, 202, "POST", "/inbound/{id}/webhook", body, signer.Headers("msg_"+id, []byte(body), time.Now()), nil)
}

// prepare configures and certifies a webhook.
func (b *bench) prepare(t testing.TB) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = webhook.Verify([]string{secret}, r.Header, body, time.Now())
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(receiver.Close)
	b.call(t, 201, "POST", "/companies/{id}/integrations/webhook", `{"url":"`+receiver.URL+`","events":["memory.*"],"signingSecret":"`+secret+`"}`, nil, nil)
	b.call(t, 200, "POST", "/companies/{id}/integrations/webhook/certification", "", nil, nil)
}

// operations is the table of ARCHITECTURE.md: what a request costs in round trips.
func operations() []struct {
	name string
	run  func(*bench, testing.TB)
	want trips
} {
	get := func(path string) func(*bench, testing.TB) {
		return func(b *bench, t testing.TB) { b.call(t, 200, "GET", "/companies/{id}/"+path, "", nil, nil) }
	}
	return []struct {
		name string
		run  func(*bench, testing.TB)
		want trips
	}{
		{"health", get("mission-control/health"), trips{Gets: 1}},
		{"readiness", get("mission-control/readiness"), trips{Gets: 1}},
		{"dashboard", get("mission-control/dashboard"), trips{Gets: 1}},
		{"timeline", get("mission-control/timeline"), trips{Gets: 1, Queries: 1}},
		{"brief", get("intelligence/brief"), trips{Gets: 1}},
		{"recommendations", get("intelligence/recommendations"), trips{Gets: 1, Queries: 1}},
		{"context", get("intelligence/context"), trips{Gets: 1}},
		{"integrations", get("integrations"), trips{Gets: 1, Queries: 2}},
		{"memory", get("memory"), trips{Queries: 1}},
		{"deliveries", get("integrations/webhook/deliveries"), trips{Queries: 1}},
		{"login", func(b *bench, t testing.TB) {
			b.call(t, 200, "POST", "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`, nil, nil)
		}, trips{Gets: 1, Queries: 1, Commits: 1, Ops: 1}}, // the company, for its plan
		{"inbound, new memory", func(b *bench, t testing.TB) { b.inbound(t, "new") }, trips{Gets: 3, Commits: 1, Ops: 3}},
	}
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.prepare(t)
	b.inbound(t, "warm") // the first request of a company unwraps its key
	for _, op := range operations() {
		b.store.take()
		op.run(b, t)
		if diff := cmp.Diff(op.want, b.store.take()); diff != "" {
			t.Errorf("%s: round trips differ (-want +got):\n%s", op.name, diff)
		}
	}
}

func BenchmarkRoundTrips(b *testing.B) {
	for _, op := range operations() {
		if op.name == "login" || strings.HasPrefix(op.name, "inbound") { // bound to succeed once: see TestRoundTrips
			continue
		}
		b.Run(op.name, func(b *testing.B) {
			bed := open(b)
			bed.prepare(b)
			bed.store.take()
			b.ReportAllocs()
			for b.Loop() {
				op.run(bed, b)
			}
			n := bed.store.take()
			b.ReportMetric(float64(n.Gets)/float64(b.N), "gets/op")
			b.ReportMetric(float64(n.Queries)/float64(b.N), "queries/op")
			b.ReportMetric(float64(n.Commits)/float64(b.N), "commits/op")
		})
	}
}
