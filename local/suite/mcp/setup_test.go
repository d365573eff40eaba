package mcp_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

type object = map[string]any

// readScopes are what the tests' agents read with.
var readScopes = []string{"intelligence:read", "mission-control:read", "memory:read", "integrations:read", "operations:read"}

// service is a service with a company, whose founder has logged in, and a third party with a document.
type service struct {
	*servicetest.Service
	t       *testing.T
	company string // the path of the company
	founder string // the token of its founder
	owner   string // the founder's id
	party   string // the third party's client_id
}

// callback is where the third party is led back to. It may take any port.
const callback = "http://127.0.0.1/callback"

func start(t *testing.T) *service {
	t.Helper()
	party := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(object{
			"client_id": "https://" + r.Host + r.URL.Path, "client_name": "Agent", "token_endpoint_auth_method": "none", "redirect_uris": []string{callback},
		})
	}))
	t.Cleanup(party.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(party.Certificate())
	s := &service{t: t, party: party.URL + "/client.json", Service: servicetest.StartAtItsAddress(t, func(c *config.Config) { c.RootCAs = trusted })}
	f := s.Found("Conformance")
	s.company = "/companies/" + f.CompanyID
	var session struct {
		Token string `json:"access_token"`
	}
	s.send("/auth/login", "", object{"email": f.Email, "password": f.Password}, &session)
	s.founder = session.Token
	s.Log.KeepOut(s.founder)
	var users struct{ Items []struct{ ID string } }
	s.send(s.company+"/operations/users", s.founder, nil, &users)
	s.owner = users.Items[0].ID
	return s
}

// endpoint returns the address of the company's MCP endpoint.
func (s *service) endpoint() string { return s.URL + s.company + "/mcp" }

type client struct{ ClientID, ClientSecret string }

// client creates a client of the founder's.
func (s *service) client(members object) (c client) {
	s.t.Helper()
	body := object{"name": "Agent", "purpose": "Conformance", "owner": s.owner}
	for name, v := range members {
		body[name] = v
	}
	s.send(s.company+"/operations/clients", s.founder, body, &c)
	if c.ClientSecret != "" {
		s.Log.KeepOut(c.ClientSecret)
	}
	return c
}

// send sends a GET, or a POST with a body, and decodes the answer.
func (s *service) send(path, bearer string, body, into any) {
	s.t.Helper()
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		var err error
		text, err = json.Marshal(body)
		errtest.Must(s.t, err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader(text))
	errtest.Must(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	answer, err := http.DefaultClient.Do(r)
	errtest.Must(s.t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	errtest.Must(s.t, err)
	if answer.StatusCode >= 300 {
		s.t.Fatalf("%s %s: status = %d, want a success: %s", method, path, answer.StatusCode, got)
	}
	errtest.Must(s.t, json.Unmarshal(got, into))
}

// node returns the Node that npm has installed for this platform.
func node(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(servicetest.Installed(t, ".tools/mcp/node_modules") + "/node-*/bin/node")
	errtest.Must(t, err)
	if len(found) != 1 {
		t.Fatalf("%d Nodes are installed, want 1: run make tools", len(found))
	}
	return found[0]
}

// program runs one of the tests' programs with settings, and returns what it printed.
func (s *service) program(name string, settings ...string) string {
	s.t.Helper()
	modules, folder := servicetest.Installed(s.t, ".tools/mcp/node_modules"), s.t.TempDir()
	errtest.Must(s.t, os.Symlink(modules, filepath.Join(folder, "node_modules")))
	for _, file := range []string{name, "person.mjs"} {
		content, err := os.ReadFile(filepath.Join("testdata", file))
		errtest.Must(s.t, err)
		errtest.Must(s.t, os.WriteFile(filepath.Join(folder, file), content, 0o600))
	}
	return servicetest.Command(s.t, time.Minute, func(c *exec.Cmd) {
		c.Dir = folder
		c.Env = append(os.Environ(), append(settings, "BASE="+s.URL, "ENDPOINT="+s.endpoint(), "FOUNDER="+s.founder, "PARTY="+s.party, "CALLBACK="+callback)...)
	}, node(s.t), name)
}
