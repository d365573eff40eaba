package inbound_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"orgops/functions/inbound"
	"orgops/functions/integrations"
	"orgops/shared/boot"
	"orgops/shared/clocktest"
	"orgops/shared/config"
	"orgops/shared/connector"
	"orgops/shared/integration"
	"orgops/shared/logtest"
	"orgops/shared/metric"
	"orgops/shared/metric/metrictest"
	"orgops/shared/policy"
	"orgops/shared/store"
	"orgops/shared/token"
	"orgops/shared/vault"
	"orgops/shared/webhook"
	"orgops/shared/webtest"
)

const (
	secret       = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	githubSecret = "as typed at github"
)

// service is the group on a real server and store, with the group that configures integrations beside it.
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

func setup(t testing.TB) *service {
	t.Helper()
	s := &service{Harness: webtest.New(t), t: t, clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond))}
	wrapper, err := vault.OpenFileKey(filepath.Join(t.TempDir(), "vault.key"))
	must(t, err)
	key, err := token.NewKey(nil)
	must(t, err)
	s.services, err = boot.New(config.Config{Issuer: "test", Audience: "test"}, boot.Backend{
		Store: s.Store, Vault: vault.New(wrapper, vault.StoreKeys{Store: s.Store}, s.clock.Now), Loopback: true,
		Keys: token.KeySet{Current: key},
	}, slog.New(slog.NewJSONHandler(s.Log, nil)), s.clock.Now)
	must(t, err)
	integrations.Register(s.API(), integrations.Deps{
		Connectors: s.services.Connectors, Examiner: s.services.Examiner, Courier: s.services.Courier, Vault: s.services.Vault, Now: s.clock.Now,
	})
	s.metrics, s.measured = metrictest.New(s.clock.Now)
	s.commits, s.engine = &commits{Store: s.Store}, &engine{Engine: s.services.Engine}
	inbound.Register(s.API(), inbound.Deps{
		Company:    func(companyID string) store.Company { return store.For(s.commits, companyID) },
		Connectors: s.services.Connectors, Vault: s.services.Vault, Engine: s.engine, Metrics: s.metrics, Now: s.clock.Now,
	})
	return s
}

// certified configures and certifies a webhook and a GitHub repository.
func (s *service) certified() {
	s.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if _, err := webhook.Verify([]string{secret}, r.Header, body, s.clock.Now()); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	s.t.Cleanup(receiver.Close)
	s.configure("webhook", map[string]any{"url": receiver.URL, "events": []string{"memory.*"}, "signingSecret": secret})
	s.configure("github", map[string]any{"repository": "octo/app", "signingSecret": githubSecret})
	for _, provider := range []string{"webhook", "github"} {
		var report struct{ Passed bool }
		if s.integrations("POST", "/"+provider+"/certification", nil).Want(200).JSON(&report); !report.Passed {
			s.t.Fatalf("%s was not certified", provider)
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

// edit changes a stored integration in a way that no configuration does.
func (s *service) edit(provider string, change func(*integration.Integration)) {
	s.t.Helper()
	i, version, err := integration.Load(s.t.Context(), s.company(), provider)
	must(s.t, err)
	change(&i)
	must(s.t, s.company().Commit(s.t.Context(), s.company().Replace(integration.Key(provider), integration.Entity, version, i)))
}

// send posts a delivery to company A, signed now with a secret.
func (s *service) send(provider, signedWith, deliveryID, body string, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.post("/inbound/"+s.A.ID+"/"+provider, body, append(s.signature(provider, signedWith, deliveryID, body), headers...)...)
}

func (s *service) post(path, body string, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.Do("POST", path, "", body, headers...)
}

// signature is the headers that sign a body, as pairs.
func (s *service) signature(provider, signedWith, deliveryID, body string) []string {
	c, _ := s.services.Connectors.Lookup(provider)
	var pairs []string
	for name, values := range c.(connector.Inbound).Sign(signedWith, deliveryID, []byte(body), s.clock.Now()) {
		pairs = append(pairs, name, values[0])
	}
	return pairs
}

func (s *service) company() store.Company { return store.For(s.Store, s.A.ID) }

// items is what company A has under a prefix, decoded.
func items[T any](s *service, prefix string) []T {
	s.t.Helper()
	page, err := s.company().Query(s.t.Context(), store.Query{Prefix: prefix})
	must(s.t, err)
	all := make([]T, len(page.Items))
	for n, item := range page.Items {
		must(s.t, json.Unmarshal(item.Body, &all[n]))
	}
	return all
}

// receipt is the answer as a sender sees it.
type receipt struct {
	Duplicate, Sandboxed bool
	Results              []struct{ Action, Verdict, DecisionID, Outcome, Subject string }
}

// outcomes are the results' verdicts and outcomes.
func (r receipt) outcomes() []string {
	var all []string
	for _, one := range r.Results {
		all = append(all, one.Action+" "+one.Verdict+" "+one.Outcome)
	}
	return all
}

func (s *service) sent(answer *webtest.Response, status int) receipt {
	s.t.Helper()
	var r receipt
	answer.Want(status).JSON(&r)
	return r
}

// commits counts the commits of a real store.
type commits struct {
	store.Store
	mu  sync.Mutex
	ops [][]store.Op
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

// engine is the real one until it is made to fail.
type engine struct {
	policy.Engine
	err error
}

func (e *engine) Decide(ctx context.Context, company string, r policy.Request) (policy.Decision, error) {
	if e.err != nil {
		return policy.Decision{}, e.err
	}
	return e.Engine.Decide(ctx, company, r)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
