package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"orgops/local/suite/servicetest"
	"orgops/shared/base/freeport"
	"orgops/shared/domain/executive"
	"orgops/shared/testkit/errtest"
)

// TestConformance_Authorization runs what the official suite asks of an authorization server. It waits for a person to follow an address
// that it prints. Every check passes, so there is no baseline.
func TestConformance_Authorization(t *testing.T) {
	t.Parallel()
	suite := servicetest.Installed(t, ".tools/mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js")
	s, program := start(t), node(t)
	port, err := freeport.Find(t.Context())
	errtest.Must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, program, suite, "authorization",
		"--url", s.URL, "--client-id", s.party, "--resource", s.endpoint(), "--port", strconv.Itoa(port))
	c.Dir, c.WaitDelay = t.TempDir(), time.Second
	printed, err := c.StdoutPipe()
	errtest.Must(t, err)
	var failed bytes.Buffer
	c.Stderr = &failed
	errtest.Must(t, c.Start())
	var report strings.Builder
	request, listens := "", false
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		line := lines.Text()
		report.WriteString(line + "\n")
		if strings.HasPrefix(line, s.URL+"/auth/authorize?") {
			request = line
		}
		listens = listens || strings.HasPrefix(line, "Callback server started")
		if request != "" && listens { // it prints the address before it listens
			s.allow(request)
			request = ""
		}
	}
	if err := c.Wait(); err != nil {
		t.Errorf("the suite ended with %v:\n%s%s", err, report.String(), failed.String())
	}
	for _, line := range []string{"✓ authorization-server-metadata-endpoint: 2 passed, 0 failed", "✓ authorization-code-grant: 1 passed, 0 failed"} {
		if !strings.Contains(report.String(), line) {
			t.Errorf("the report lacks %q:\n%s", line, report.String())
		}
	}
}

// allow has the founder follow an authorization request in a browser, and consent to all that it asks for.
func (s *service) allow(request string) {
	s.t.Helper()
	browser := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	led, err := browser.Get(request)
	errtest.Must(s.t, err)
	errtest.Must(s.t, led.Body.Close())
	_, asked, _ := strings.Cut(led.Header.Get("Location"), "#/authorize?")
	query, err := url.ParseQuery(asked)
	errtest.Must(s.t, err)
	var shown struct{ Scopes []string }
	s.send("/auth/consent?"+asked, s.founder, nil, &shown)
	decision := object{"allow": true, "scopes": shown.Scopes}
	for name := range query {
		decision[name] = query.Get(name)
	}
	var decided struct{ RedirectTo string }
	s.send("/auth/consent", s.founder, decision, &decided)
	ended, err := browser.Get(decided.RedirectTo)
	errtest.Must(s.t, err)
	errtest.Must(s.t, ended.Body.Close())
}

// TestSDK has the official TypeScript SDK connect, from a refused request to a called tool.
func TestSDK(t *testing.T) {
	t.Parallel()
	wantLines(t, start(t).program("sdk.mjs"), "connected to orgops", "listed get-brief", "called true")
}

// TestOAuth has oauth4webapi get and use tokens in every way that the service gives them. It checks each answer against the RFCs.
func TestOAuth(t *testing.T) {
	t.Parallel()
	s := start(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	errtest.Must(t, err)
	signing, err := json.Marshal(jose.JSONWebKey{Key: key})
	errtest.Must(t, err)
	machine := s.client(object{"scopes": readScopes})
	signer := s.client(object{"scopes": readScopes, "keys": object{"keys": []any{jose.JSONWebKey{Key: key.Public(), KeyID: "one", Algorithm: "ES256", Use: "sig"}}}})
	acts := s.client(object{"executive": s.executive("Chief of Staff")})
	got := s.program("oauth.mjs", "MACHINE_ID="+machine.ClientID, "MACHINE_SECRET="+machine.ClientSecret, "SIGNER_ID="+signer.ClientID, "SIGNER_KEY="+string(signing),
		"EXECUTIVE_ID="+acts.ClientID, "EXECUTIVE_SECRET="+acts.ClientSecret)
	wantLines(t, got,
		"discovered true",
		"code bearer mission-control:read memory:read true", "refresh true 401 bearer invalid_token", "code again invalid_grant",
		"post mission-control:read true 200", "basic mission-control:read true 200", "key mission-control:read true 200", "wrong secret basic",
		"exchange true true")
}

// executive configures and certifies an executive of the founder's, and returns its id.
func (s *service) executive(name string) string {
	s.t.Helper()
	id := executive.IDOf(name)
	s.send(s.company+"/executives", s.founder, object{
		"name": name, "role": "Keeps order", "owner": s.owner, "actions": []string{"timeline.note"}, "reads": []string{"mission-control:read"},
	}, new(object))
	s.send(s.company+"/executives/"+id+"/certification", s.founder, object{}, new(object))
	return id
}

func wantLines(t *testing.T, printed string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(printed), "\n")); diff != "" {
		t.Errorf("the program's lines differ (-want +got):\n%s", diff)
	}
}

// TestInspector has the inspector's command line connect, list and call. It warns of schemas that some client cannot use: only of what
// can be any JSON, or null.
func TestInspector(t *testing.T) {
	t.Parallel()
	program := servicetest.Installed(t, ".tools/mcp/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	endpoint := start(t).proxied()
	var told bytes.Buffer
	inspect := func(arguments ...string) string {
		t.Helper()
		return servicetest.Command(t, time.Minute, func(c *exec.Cmd) {
			c.Dir, c.Stderr = t.TempDir(), &told
			c.Env = append(os.Environ(), "HOME="+c.Dir)
		}, node(t), append([]string{program, "--cli", endpoint, "--transport", "http"}, arguments...)...)
	}
	var listed struct{ Tools []struct{ Name string } }
	errtest.Must(t, json.Unmarshal([]byte(inspect("--method", "tools/list", "--strict")), &listed))
	if len(listed.Tools) < 5 {
		t.Errorf("%d tools are listed, want at least 5: %v", len(listed.Tools), listed.Tools)
	}
	var called struct {
		Structured struct{ Headline string } `json:"structuredContent"`
	}
	errtest.Must(t, json.Unmarshal([]byte(inspect("--method", "tools/call", "--tool-name", "get-brief")), &called))
	if called.Structured.Headline == "" {
		t.Error("the called tool answers no brief")
	}
	for line := range strings.Lines(told.String()) {
		_, path, warned := strings.Cut(strings.TrimSpace(line), "Path: ")
		if at := path[strings.LastIndex(path, ".")+1:]; warned && !slices.Contains([]string{"payload", "config", "details", "score"}, at) {
			t.Errorf("the inspector warns of %s:\n%s", path, told.String())
		}
	}
}
