package inbound_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/inbound"
	"orgops/functions/integrations"
	"orgops/shared/base/metric"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
	"orgops/shared/provider/scheme"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/standardwebhooks"
)

const (
	secret       = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	githubSecret = "as typed at github"
	base         = "https://ops.example.com"
	formerBase   = "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com/live" // of before the domain
)

// service serves the group, and the group integrations next to it, on a real server and store.
type service struct {
	*webtest.Harness
	t        testing.TB
	clock    *clocktest.Clock
	commits  *commits
	engine   *engine
	services *boot.Services
	metrics  *metric.Recorder
	measured *logtest.Log
}

func setup(t testing.TB) *service { return setupOne(t, false) }

// setupOne sets up one process, of several that share the companies' limits or alone.
func setupOne(t testing.TB, shared bool) *service {
	t.Helper()
	s := &service{Harness: webtest.New(t), t: t, clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond))}
	client := outbound.New(outbound.Options{AllowLoopback: true})
	s.services = boot.New(boot.Parts{
		Store: s.Store, Vault: s.Vault, Client: client, Engine: policyengine.New(s.clock.Now),
		Base: base, FormerBase: formerBase, Connectors: catalog.All(client, s.clock.Now), Logger: slog.New(slog.NewJSONHandler(s.Log, nil)), Now: s.clock.Now,
	})
	integrations.Mount(s.API(), s.services)
	integrations.MountCertification(s.API(), s.services)
	s.metrics, s.measured = metrictest.New(s.clock.Now)
	s.commits, s.engine = &commits{Store: s.Store}, &engine{Engine: s.services.Engine}
	inbound.Register(s.API(), inbound.Deps{
		Company:    func(companyID string) store.Company { return store.For(s.commits, companyID) },
		Connectors: s.services.Connectors, Vault: s.services.Vault, Engine: s.engine, Metrics: s.metrics, Now: s.clock.Now, Bases: s.services.Bases(), Presume: true, Shared: shared,
	})
	return s
}

// in returns the service for a subtest, so that a failure ends the subtest.
func (s *service) in(t testing.TB) *service {
	in := *s
	in.t, in.Harness = t, s.In(t)
	return &in
}

// certified configures and certifies a webhook and a GitHub repository.
func (s *service) certified() {
	s.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if _, err := standardwebhooks.Verify([]string{secret}, r.Header, body, s.clock.Now()); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	s.t.Cleanup(receiver.Close)
	s.configure("webhook", map[string]any{"url": receiver.URL, "events": []string{"memory.*"}, "signingSecret": secret})
	s.configure("github", map[string]any{"repository": "octo/app", "signingSecret": githubSecret})
	for _, provider := range []string{"webhook", "github"} {
		var report struct{ Passed bool }
		if s.integrations("POST", "/"+provider+"/certification", nil).Want(200).JSON(&report); !report.Passed {
			s.t.Fatalf("%s was not certified, want it certified", provider)
		}
	}
}

func (s *service) configure(provider string, body any) {
	s.t.Helper()
	s.integrations("POST", "/"+provider, body).Want(201)
}

func (s *service) integrations(method, rest string, body any) *webtest.Response {
	s.t.Helper()
	return s.Do(method, "/companies/"+s.A.ID+"/integrations"+rest, s.A.Token, body)
}

// edit changes a stored integration in a way that the API does not offer.
func (s *service) edit(provider string, change func(*integration.Integration)) {
	s.t.Helper()
	i, version, err := integration.Load(s.t.Context(), s.company(), provider)
	errtest.Must(s.t, err)
	change(&i)
	errtest.Must(s.t, s.company().Commit(s.t.Context(), s.company().Replace(integration.Key(provider), integration.Entity, version, i)))
}

// send posts an arrival to company A, signed now with a secret.
func (s *service) send(provider, signedWith, arrivalID, body string, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.post("/inbound/"+s.A.ID+"/"+provider, body, append(s.signature(provider, signedWith, arrivalID, body), headers...)...)
}

func (s *service) post(path, body string, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.Do("POST", path, "", body, headers...)
}

// signature returns the headers that sign a body, as pairs.
func (s *service) signature(provider, signedWith, arrivalID, body string) []string {
	c, _ := s.services.Connectors.Lookup(provider)
	var pairs []string
	for name, values := range c.(connector.Inbound).Sign(nil, signedWith, arrivalID, scheme.Request{Method: http.MethodPost, Body: []byte(body)}, s.clock.Now()) {
		pairs = append(pairs, name, values[0])
	}
	return pairs
}

func (s *service) company() store.Company { return store.For(s.Store, s.A.ID) }

// items returns company A's items under a prefix, decoded.
func items[T any](s *service, prefix string) []T {
	s.t.Helper()
	page, err := s.company().Query(s.t.Context(), store.Query{Prefix: prefix})
	errtest.Must(s.t, err)
	all := make([]T, len(page.Items))
	for n, item := range page.Items {
		errtest.Must(s.t, json.Unmarshal(item.Body, &all[n]))
	}
	return all
}

// receipt decodes the answer as a sender does.
type receipt struct {
	Duplicate, Sandboxed bool
	Effect, Reason       string
	Results              []struct{ Action, Verdict, DecisionID, Outcome, Subject, ApprovalID string }
}

// wantReceipt compares what an answer says: "duplicate", "sandboxed", and the action, verdict and outcome of each result.
func (s *service) wantReceipt(r receipt, want ...string) {
	s.t.Helper()
	var got []string
	if r.Duplicate {
		got = append(got, "duplicate")
	}
	if r.Sandboxed {
		got = append(got, "sandboxed")
	}
	for _, one := range r.Results {
		got = append(got, one.Action+" "+one.Verdict+" "+one.Outcome)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("receipt differs (-want +got):\n%s", diff)
	}
}

// wantItems checks how many items company A has under a prefix.
func (s *service) wantItems(prefix string, want int) {
	s.t.Helper()
	if got := items[json.RawMessage](s, prefix); len(got) != want {
		s.t.Errorf("%d items under %s, want %d: %s", len(got), prefix, want, got)
	}
}

// wantEntries compares the company's timeline, except for ids, times and actors.
func (s *service) wantEntries(want ...timeline.Entry) {
	s.t.Helper()
	other := cmpopts.IgnoreFields(timeline.Entry{}, "ID", "At", "Actor")
	if diff := cmp.Diff(want, items[timeline.Entry](s, timeline.Prefix), other); diff != "" {
		s.t.Errorf("timeline differs (-want +got):\n%s", diff)
	}
}

// wantVerdicts compares the verdicts of the company's decisions. dryRun tells whether they took no effect.
func (s *service) wantVerdicts(dryRun bool, want ...policy.Verdict) {
	s.t.Helper()
	var got []policy.Verdict
	for _, d := range items[policy.Decision](s, policy.Prefix) {
		got = append(got, d.Verdict)
		if d.DryRun != dryRun {
			s.t.Errorf("decision %s was a dry run: %t, want %t", d.ID, d.DryRun, dryRun)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("verdicts differ (-want +got):\n%s", diff)
	}
}

// wantCommits checks how many commits the group has made since the last call, but those that count refusals.
func (s *service) wantCommits(want int) {
	s.t.Helper()
	if _, got := s.commits.split(); got != want {
		s.t.Errorf("%d commits, want %d", got, want)
	}
}

// split removes the commits, and returns how many wrote the counts of refusals, and how many others there were.
func (c *commits) split() (counts, others int) {
	for _, ops := range c.take() {
		switch {
		case ops[0].Entity == arrival.Entity:
			counts++
		case !strings.HasPrefix(ops[0].Key, "REFUSED#"):
			others++
		}
	}
	return counts, others
}

func (s *service) sent(answer *webtest.Response, status int) receipt {
	s.t.Helper()
	var r receipt
	answer.Want(status).JSON(&r)
	return r
}

// commits wraps a real store and counts its commits, and its reads of memories.
type commits struct {
	store.Store
	mu    sync.Mutex
	ops   [][]store.Op
	looks atomic.Int64
}

func (c *commits) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if strings.HasPrefix(key, memory.Prefix) {
		c.looks.Add(1)
	}
	return c.Store.Get(ctx, p, key)
}

func (c *commits) Commit(ctx context.Context, ops ...store.Op) error {
	err := c.Store.Commit(ctx, ops...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.ops = append(c.ops, ops)
	}
	return err
}

func (c *commits) take() [][]store.Op {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.ops
	c.ops = nil
	return taken
}

// engine wraps the real engine and can be made to fail.
type engine struct {
	policy.Engine
	err error
}

func (e *engine) Decide(ctx context.Context, company store.Company, r policy.Request) (policy.Decision, error) {
	if e.err != nil {
		return policy.Decision{}, e.err
	}
	return e.Engine.Decide(ctx, company, r)
}

// incarnation returns the incarnation of an integration.
func (s *service) incarnation(provider string) string {
	s.t.Helper()
	i, _, err := integration.Load(s.t.Context(), s.company(), provider)
	errtest.Must(s.t, err)
	return i.Incarnation
}
