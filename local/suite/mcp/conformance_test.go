// Package mcp_test holds the service's MCP endpoint and its authorization server to what others wrote: the protocol's official
// conformance suite, TypeScript SDK and inspector, and an OAuth library.
package mcp_test

import (
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

// proxied returns the address of a proxy in front of the endpoint that adds an agent's token, because the suite has no option for one.
func (s *service) proxied() string {
	s.t.Helper()
	client := s.client(object{"scopes": readScopes})
	var agent struct {
		Token string `json:"access_token"`
	}
	s.send("/auth/token", "", object{
		"grant_type": "client_credentials", "client_id": client.ClientID, "client_secret": client.ClientSecret, "resource": s.endpoint(),
	}, &agent)
	s.Log.KeepOut(agent.Token)
	target, err := url.Parse(s.URL)
	errtest.Must(s.t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+agent.Token)
	}})
	s.t.Cleanup(proxy.Close)
	return proxy.URL + strings.TrimPrefix(s.endpoint(), s.URL)
}

// TestConformance runs what the official suite requires of a server in two revisions. baseline.yml names the scenarios that do not
// apply, with the reason of each; a scenario there that passes fails the test.
func TestConformance(t *testing.T) {
	t.Parallel()
	suite := servicetest.Installed(t, ".tools/mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js")
	s, program := start(t), node(t)
	endpoint := s.proxied()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			baseline, err := filepath.Abs("baseline-" + revision + ".yml")
			errtest.Must(t, err)
			printed := servicetest.Command(t, time.Minute, func(c *exec.Cmd) { c.Dir = t.TempDir() }, program, suite, "server",
				"--url", endpoint, "--requirements", revision, "--expected-failures", baseline)
			for _, line := range []string{"✓ tools-list", "✓ resources-list", "✓ prompts-list", "✓ dns-rebinding-protection"} {
				if !strings.Contains(printed, line) {
					t.Errorf("the report lacks %q:\n%s", line, printed)
				}
			}
		})
	}
}
