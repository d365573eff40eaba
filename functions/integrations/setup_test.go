package integrations_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/integrations"
	"orgops/shared/domain/integration"
	"orgops/shared/identity/application"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/standardwebhooks"
)

// given is a signing secret that the caller chose; another is a second one.
const (
	given   = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	another = "whsec_FxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA"
)

// service serves the group on a real server and store.
type service struct {
	*webtest.Harness
	t        testing.TB
	clock    *clocktest.Clock
	services *boot.Services
}

func setup(t testing.TB) *service {
	t.Helper()
	return setupConnect(t, nil)
}

// setupConnect is a service whose operator has registered applications.
func setupConnect(t testing.TB, apps application.Applications) *service {
	t.Helper()
	s := &service{Harness: webtest.New(t), t: t, clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond))}
	client := outbound.New(outbound.Options{AllowLoopback: true})
	s.services = boot.New(boot.Parts{
		Store: s.Store, Vault: s.Vault, Client: client, Engine: policyengine.New(s.clock.Now),
		Connectors: catalog.All(client, s.clock.Now), Applications: apps, Base: base, Logger: slog.New(slog.NewJSONHandler(s.Log, nil)), Now: s.clock.Now,
	})
	integrations.Mount(s.API(), s.services)
	integrations.MountCertification(s.API(), s.services)
	return s
}

// in returns the service for a subtest, so that a failure ends the subtest.
func (s *service) in(t testing.TB) *service {
	in := *s
	in.t, in.Harness = t, s.In(t)
	return &in
}

// at returns a path of the group for company A.
func (s *service) at(rest string) string { return "/companies/" + s.A.ID + "/integrations" + rest }

// do sends a request of company A's founder.
func (s *service) do(method, rest string, body any, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.Do(method, s.at(rest), s.A.Token, body, headers...)
}

// configure creates a webhook with a known signing secret.
func (s *service) configure(provider, url string) shown {
	s.t.Helper()
	return s.configured(provider, map[string]any{"url": url, "events": []string{"memory.*"}, "signingSecret": given}, 201)
}

func (s *service) configured(provider string, body any, status int) shown {
	s.t.Helper()
	var i shown
	s.do("POST", "/"+provider, body).Want(status).JSON(&i)
	return i
}

func (s *service) get(provider string) shown {
	s.t.Helper()
	var i shown
	s.do("GET", "/"+provider, nil).Want(200).JSON(&i)
	return i
}

func (s *service) company() store.Company { return store.For(s.Store, s.A.ID) }

// secrets returns what the vault holds for a provider.
func (s *service) secrets(provider string) integration.Secrets {
	s.t.Helper()
	secrets, _, err := integration.LoadSecrets(s.t.Context(), s.company(), s.services.Vault, provider)
	errtest.Must(s.t, err)
	return secrets
}

// shown decodes an integration as a client sees it.
type shown struct {
	Provider, Kind, State string
	Enabled               bool
	Disabled              *struct{ Reason string }
	URL                   string
	Events                []string
	Config                json.RawMessage
	Permissions           []string
	Credentials           *struct{ Names []string }
	Connection            *struct {
		Account string
		LostAt  *time.Time
	}
	Certification *certification
	Sandboxed     string
	Health        struct{ Status string }
	SigningSecret string
	SecretAt      *time.Time
	Version       int64
}

// certification decodes a certification as a client sees it.
type certification struct {
	PassedAt, ExpiresAt time.Time
	Ports               []string
	Report              *report
}

// standing tells what an integration may do, and why not more.
type standing struct {
	State, Sandboxed   string
	Certified, Enabled bool
	Disabled           string // the reason
}

// wantStanding compares what an integration may do.
func (s *service) wantStanding(i shown, want standing) {
	s.t.Helper()
	got := standing{State: i.State, Sandboxed: i.Sandboxed, Certified: i.Certification != nil, Enabled: i.Enabled}
	if i.Disabled != nil {
		got.Disabled = i.Disabled.Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("standing of %s differs (-want +got):\n%s", i.Provider, diff)
	}
}

// wantNone checks that the company has no items under a prefix.
func (s *service) wantNone(prefix string) {
	s.t.Helper()
	page, err := s.company().Query(s.t.Context(), store.Query{Prefix: prefix})
	errtest.Must(s.t, err)
	if len(page.Items) != 0 {
		s.t.Errorf("the store holds %v, want nothing under %s", page.Items, prefix)
	}
}

// report decodes a certification report as a client sees it.
type report struct {
	Passed       bool
	ConfigDigest string
	State        string
	Ports        []string
	Checks       []struct {
		ID, Port, Status, Reason string
		Required                 bool
		Evidence                 []struct{ Value float64 }
	}
	Recover *offer
}

// offer decodes a report's offer to send what was held.
type offer struct {
	Held         int
	Method, Href string
}

// wantReport compares a report, except for its checks and the configuration that it is of.
func (s *service) wantReport(got, want report) {
	s.t.Helper()
	other := cmpopts.IgnoreFields(report{}, "Checks", "ConfigDigest")
	if diff := cmp.Diff(want, got, other, cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("report differs (-want +got):\n%s", diff)
	}
}

// wantCheck compares the status of a report's check, and looks for a part of its reason.
func (s *service) wantCheck(r report, id, status, reason string) {
	s.t.Helper()
	got, text := r.check(id)
	if got != status {
		s.t.Errorf("check %s: status %q, want %q", id, got, status)
	}
	if text == "" {
		s.t.Errorf("check %s has no reason, want one", id)
	}
	if !strings.Contains(text, reason) {
		s.t.Errorf("check %s: reason %q, want one with %q", id, text, reason)
	}
}

// check returns the status and reason of a check; the status is "" if the report lacks it.
func (r report) check(id string) (status, reason string) {
	for _, c := range r.Checks {
		if c.ID == id {
			return c.Status, c.Reason
		}
	}
	return "", ""
}

// receiver implements an endpoint of a tenant.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []http.Header
}

// receive starts an endpoint that keeps the headers of its requests and returns the handler's status.
func receive(t testing.TB, answer func(header http.Header, body []byte) int) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("read a delivery: %v", err)
		}
		r.mu.Lock()
		r.got = append(r.got, req.Header.Clone())
		r.mu.Unlock()
		w.WriteHeader(answer(req.Header, body))
	}))
	t.Cleanup(r.Close)
	return r
}

// verifying answers like an endpoint that verifies signatures with these secrets.
func (s *service) verifying(secrets ...string) func(http.Header, []byte) int {
	return func(header http.Header, body []byte) int {
		if _, err := standardwebhooks.Verify(secrets, header, body, s.clock.Now()); err != nil {
			return http.StatusUnauthorized
		}
		return http.StatusNoContent
	}
}

func always(status int) func(http.Header, []byte) int {
	return func(http.Header, []byte) int { return status }
}

// keepsOut fails if a body or the log contains one of the secrets.
func (s *service) keepsOut(body []byte, secrets ...string) {
	s.t.Helper()
	for _, secret := range secrets {
		part := strings.TrimPrefix(secret, "whsec_")
		if strings.Contains(string(body), part) {
			s.t.Errorf("the answer has a secret, want none: %s", body)
		}
		if strings.Contains(s.Log.String(), part) {
			s.t.Errorf("the log has a secret, want none, after the answer %s", body)
		}
	}
}
