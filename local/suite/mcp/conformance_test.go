// Package mcp_test holds the service's MCP endpoint to what others wrote: the protocol's official conformance suite and its
// TypeScript SDK.
package mcp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// endpoint serves a company with an agent's client, and a proxy in front that adds the agent's token, because the suite has no
// option for one.
type endpoint struct{ url, token, proxied string }

func start(t *testing.T) endpoint {
	t.Helper()
	s := servicetest.StartAtItsAddress(t)
	f := s.Found("Conformance")
	var session struct {
		Token string `json:"access_token"`
	}
	send(t, s.URL+"/auth/login", "", map[string]any{"email": f.Email, "password": f.Password}, &session)
	var users struct{ Items []struct{ ID string } }
	company := s.URL + "/companies/" + f.CompanyID
	send(t, company+"/operations/users", session.Token, nil, &users)
	var client struct{ ClientID, ClientSecret string }
	send(t, company+"/operations/clients", session.Token, map[string]any{
		"name": "Agent", "purpose": "Conformance", "owner": users.Items[0].ID,
		"scopes": []string{"intelligence:read", "mission-control:read", "memory:read", "integrations:read", "operations:read"},
	}, &client)
	s.Log.KeepOut(client.ClientSecret)
	var agent struct {
		Token string `json:"access_token"`
	}
	send(t, s.URL+"/auth/token", "", map[string]any{
		"grant_type": "client_credentials", "client_id": client.ClientID, "client_secret": client.ClientSecret, "resource": company + "/mcp",
	}, &agent)
	s.Log.KeepOut(agent.Token)
	target, err := url.Parse(s.URL)
	errtest.Must(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+agent.Token)
	}})
	t.Cleanup(proxy.Close)
	return endpoint{company + "/mcp", agent.Token, proxy.URL + "/companies/" + f.CompanyID + "/mcp"}
}

// send sends a GET, or a POST with a body, and decodes the answer.
func send(t *testing.T, address, bearer string, body, into any) {
	t.Helper()
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		var err error
		text, err = json.Marshal(body)
		errtest.Must(t, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(text))
	errtest.Must(t, err)
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	answer, err := http.DefaultClient.Do(r)
	errtest.Must(t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	errtest.Must(t, err)
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: status = %d, want a success: %s", method, address, answer.StatusCode, got)
	}
	errtest.Must(t, json.Unmarshal(got, into))
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

// TestConformance runs what the official suite requires of a server in two revisions. baseline.yml names the scenarios that do not
// apply, with the reason of each; a scenario there that passes fails the test.
func TestConformance(t *testing.T) {
	t.Parallel()
	suite := servicetest.Installed(t, ".tools/mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js")
	e, program := start(t), node(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			baseline, err := filepath.Abs("baseline-" + revision + ".yml")
			errtest.Must(t, err)
			printed := servicetest.Command(t, time.Minute, func(c *exec.Cmd) { c.Dir = t.TempDir() }, program, suite, "server",
				"--url", e.proxied, "--requirements", revision, "--expected-failures", baseline)
			for _, line := range []string{"✓ tools-list", "✓ resources-list", "✓ prompts-list", "✓ dns-rebinding-protection"} {
				if !strings.Contains(printed, line) {
					t.Errorf("the report lacks %q:\n%s", line, printed)
				}
			}
		})
	}
}
