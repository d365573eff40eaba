package integrations_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/functions/integrations"
	"orgops/shared/boot"
	"orgops/shared/clocktest"
	"orgops/shared/config"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/token"
	"orgops/shared/vault"
	"orgops/shared/webhook"
	"orgops/shared/webtest"
)

// given is a signing secret that a caller chose; another is a second one.
const (
	given   = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	another = "whsec_FxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA"
)

// service is the group on a real server and store.
type service struct {
	*webtest.Harness
	t        testing.TB
	clock    *clocktest.Clock
	services *boot.Services
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
		Connectors: s.services.Connectors, Examiner: s.services.Examiner, Courier: s.services.Courier, Vault: s.services.Vault,
		Now: s.clock.Now,
	})
	return s
}

// at is a path of the group for company A.
func (s *service) at(rest string) string { return "/companies/" + s.A.ID + "/integrations" + rest }

// do is a request of company A's founder.
func (s *service) do(method, rest string, body any, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.Do(method, s.at(rest), s.A.Token, body, headers...)
}

// configure makes a webhook with a known signing secret.
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

// secrets is what the vault holds for a provider.
func (s *service) secrets(provider string) integration.Secrets {
	s.t.Helper()
	secrets, _, err := integration.LoadSecrets(s.t.Context(), s.company(), s.services.Vault, provider)
	must(s.t, err)
	return secrets
}

// shown is an integration as a client sees it.
type shown struct {
	Provider, Kind, State string
	Enabled               bool
	Disabled              *struct{ Reason string }
	URL                   string
	Events                []string
	Config                json.RawMessage
	Permissions           []string
	Credentials           *struct{ Names []string }
	Certification         *struct {
		PassedAt, ExpiresAt time.Time
		Ports               []string
		Report              *report
	}
	Sandboxed     string
	Health        struct{ Status string }
	SigningSecret string
	SecretAt      *time.Time
	Version       int64
}

// report is a certification report as a client sees it.
type report struct {
	Passed       bool
	ConfigDigest string
	State        string
	Ports        []string
	Checks       []struct {
		ID, Port, Status, Reason string
		Required                 bool
	}
	Recover *struct {
		Held         int
		Method, Href string
	}
}

// status is the status of a check; "" where there is none.
func (r report) check(id string) (status, reason string) {
	for _, c := range r.Checks {
		if c.ID == id {
			return c.Status, c.Reason
		}
	}
	return "", ""
}

// receiver is somebody's endpoint.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []http.Header
}

// receive starts an endpoint that keeps the headers of what it is sent, and answers as the handler says.
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

// verifying answers as an endpoint should that knows these secrets.
func (s *service) verifying(secrets ...string) func(http.Header, []byte) int {
	return func(header http.Header, body []byte) int {
		if _, err := webhook.Verify(secrets, header, body, s.clock.Now()); err != nil {
			return http.StatusUnauthorized
		}
		return http.StatusNoContent
	}
}

func always(status int) func(http.Header, []byte) int {
	return func(http.Header, []byte) int { return status }
}

// keepsOut fails where a body or the log holds one of the secrets.
func (s *service) keepsOut(body []byte, secrets ...string) {
	s.t.Helper()
	for _, secret := range secrets {
		for _, part := range []string{secret, strings.TrimPrefix(secret, "whsec_")} {
			if strings.Contains(string(body), part) || strings.Contains(s.Log.String(), part) {
				s.t.Errorf("a secret is shown: %s", body)
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
