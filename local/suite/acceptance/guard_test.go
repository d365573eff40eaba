package acceptance_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/testkit/errtest"
)

// operation holds a row of the OpenAPI document.
type operation struct {
	method, path, id string
	security         []map[string][]string
}

// operations returns the operations of the served document.
func (s *service) operations() []operation {
	s.t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	s.do("GET", "/openapi.json", nil).want(200).json(&doc)
	methods := []string{"get", "put", "post", "delete", "patch", "head", "options", "trace"}
	var all []operation
	for path, members := range doc.Paths {
		for method, raw := range members {
			if !slices.Contains(methods, method) {
				continue
			}
			var op struct {
				OperationID string
				Security    []map[string][]string
			}
			errtest.Must(s.t, json.Unmarshal(raw, &op))
			all = append(all, operation{strings.ToUpper(method), path, op.OperationID, op.Security})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}

var parameter = regexp.MustCompile(`\{[^}]+\}`)

// in returns the operation's path for a company, with every other parameter filled in.
func (o operation) in(company string) string {
	return parameter.ReplaceAllString(strings.Replace(o.path, "{companyId}", company, 1), "webhook")
}

var requestID = regexp.MustCompile(`urn:uuid:[0-9a-f-]{36}`)

func anonymous(body []byte) string { return requestID.ReplaceAllString(string(body), "") }

// TestGuard calls every operation except the public ones. Each must refuse every forged token, and refuse another company's
// token with the same bytes as for a company that does not exist.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := start(t)
	a, b := s.tenant("Guard-A"), s.tenant("Guard-B")
	public := []string{
		"login", "accept-invitation", "ask-reset", "reset-password", "answer-challenge", "ask-unsubscribe", "unsubscribe", "receive-webhook", "get-liveness", "get-keys", "get-problem-type",
		"issue-token", "revoke-token", "authorize", "get-oauth-authorization-server", "get-openid-configuration", "get-mcp-resource", "start-sign-in", "finish-connection", "finish-slack", "receive-slack-press", "finish-oidc-sign-in", "get-saml-metadata", "finish-saml-sign-in",
	}
	own := newForger(s, a)
	forged := own.forgeries()
	guarded := 0
	for _, op := range s.operations() {
		if len(op.security) == 0 {
			if !slices.Contains(public, op.id) {
				t.Errorf("%s %s (%s) needs no token but is not in the list of public operations", op.method, op.path, op.id)
			}
			continue
		}
		guarded++
		t.Run(op.id, func(t *testing.T) {
			c := a.client
			c.t = t
			if !strings.HasPrefix(op.path, "/companies/") { // on the caller's own session
				guardOwn(c, op, forged)
				return
			}
			if op.id == "call-mcp" { // it takes tokens of its own alone
				c.do(op.method, op.in(a.ID), nil).want(401)
				guardOwn(c, operation{method: op.method, path: op.in(a.ID)}, forged)
				return
			}
			foreign := c.do(op.method, op.in(b.ID), nil).want(403)
			unknown := c.do(op.method, op.in(id.New()), nil).want(403)
			if anonymous(foreign.body) != anonymous(unknown.body) {
				t.Errorf("the answers for another company and for an unknown one differ:\n%s\n%s", foreign.body, unknown.body)
			}
			for name, text := range forged {
				c.bearer = text
				refused := c.do(op.method, op.in(a.ID), nil)
				if refused.status != 401 {
					t.Errorf("token %q: status = %d, want 401: %s", name, refused.status, refused.body)
				}
				if got := refused.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
					t.Errorf("token %q: WWW-Authenticate = %q, want it to begin with Bearer", name, got)
				}
			}
			c.bearer = ""
			c.do(op.method, op.in(a.ID), nil).want(401)
			rest := slices.DeleteFunc(user.Founder.Scopes(), func(scope string) bool {
				return slices.ContainsFunc(op.security, func(needed map[string][]string) bool { return slices.Contains(needed["bearer"], scope) })
			})
			c.bearer = own.forge(nil, map[string]any{"scope": strings.Join(rest, " ")}, own.sign)
			c.do(op.method, op.in(a.ID), nil).want(403)
		})
	}
	if guarded < 25 {
		t.Errorf("%d operations are guarded, want at least 25", guarded)
	}
}

// guardOwn checks an operation that needs any company's token.
func guardOwn(c client, op operation, forged map[string]string) {
	c.t.Helper()
	for name, text := range forged {
		c.bearer = text
		if refused := c.do(op.method, op.path, nil); refused.status != 401 {
			c.t.Errorf("token %q: status = %d, want 401: %s", name, refused.status, refused.body)
		}
	}
	c.bearer = ""
	c.do(op.method, op.path, nil).want(401)
}

// TestGuard_Paths tries to reach another company with unusual spellings of a path.
func TestGuard_Paths(t *testing.T) {
	t.Parallel()
	s := start(t)
	a, b := s.tenant("Paths-A"), s.tenant("Paths-B")
	b.register("webhook", "http://127.0.0.1:9/", newSecret(t), "memory.*")
	for _, path := range []string{
		"/companies/" + a.ID + "/../" + b.ID + "/integrations",
		"/companies/" + a.ID + "/%2e%2e/" + b.ID + "/integrations",
		"/companies/" + a.ID + "%2f..%2f" + b.ID + "/integrations",
		"/companies/" + a.ID + "/integrations/..%2f..%2f" + b.ID + "%2fintegrations",
		"/companies/" + strings.ToUpper(b.ID) + "/integrations",
		"/companies/" + b.ID + "%00/integrations",
		"/companies/" + b.ID + ";" + a.ID + "/integrations",
		"/companies//" + b.ID + "/integrations",
		"//companies/" + b.ID + "/integrations",
		"/companies/" + b.ID + "/integrations?id=" + a.ID,
		"/companies/%7Bid%7D/integrations",
	} {
		got := a.do("GET", path, nil, "X-Original-URL", "/companies/"+a.ID+"/integrations", "X-HTTP-Method-Override", "GET")
		if got.status < 400 || got.status >= 500 {
			t.Errorf("GET %s: status = %d, want 400 to 499: %s", path, got.status, got.body)
		}
		if bytes.Contains(got.body, []byte(`"items"`)) {
			t.Errorf("GET %s shows items: %s", path, got.body)
		}
	}
}

func TestService_UnknownPaths(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.tenant("Unknown")
	a.do("GET", "/nothing", nil).want(404)
	a.do("GET", a.at("/nowhere"), nil).want(404)
	if allow := a.do("PATCH", a.at("/integrations"), nil).want(405).header.Get("Allow"); !strings.Contains(allow, http.MethodGet) {
		t.Errorf("Allow = %q, want GET in it", allow)
	}
}
