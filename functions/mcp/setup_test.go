package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"orgops/functions"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// base is the service's own address in these tests.
const base = "https://orgops.test"

// service serves every group on a real HTTP server and store.
type service struct {
	*webtest.Harness
	t  testing.TB
	at string // the server's address
}

func setup(t testing.TB) *service {
	t.Helper()
	s := &service{Harness: webtest.New(t), t: t}
	client := outbound.New(outbound.Options{})
	for _, name := range []string{"another-founder"} {
		u := user.User{ID: name, Email: name + "@acme.test", Role: user.Founder, State: user.Active, CreatedAt: time.Now().Add(-time.Hour)}
		errtest.Must(t, s.company().Commit(t.Context(), s.company().Create(user.Key(u.ID), user.Entity, u).Quietly()))
	}
	parts := boot.New(boot.Parts{
		Store: s.Store, Vault: s.Vault, Connectors: catalog.All(client, time.Now), Client: client, Engine: policyengine.New(time.Now), Now: time.Now,
		Keys: token.AtHand{Signs: s.Signer, Verifies: s.Verifier.Keys}, Base: base, Logger: slog.New(slog.DiscardHandler),
	})
	s.Server = web.New(web.Options{
		Title: "test", Verifier: s.Verifier, Vault: s.Vault, Logger: slog.New(slog.NewJSONHandler(s.Log, nil)), Audit: webtest.Record, Bases: parts.Bases(),
		Ended:  user.NewSessions(time.Now).Check,
		Tenant: func(companyID string) store.Company { return store.For(s.Store, companyID) },
	})
	functions.Mount(s.API(), parts)
	listening := httptest.NewServer(s.Server)
	t.Cleanup(listening.Close)
	s.at = listening.URL
	return s
}

func (s *service) company() store.Company { return store.For(s.Store, s.A.ID) }

// path returns a path of company A.
func (s *service) path(rest string) string { return "/companies/" + s.A.ID + rest }

// mcpToken returns the token for the MCP endpoint with the claims of a token for the API.
func (s *service) mcpToken(text string) string {
	s.t.Helper()
	claims, err := s.Verifier.Verify(text)
	errtest.Must(s.t, err)
	claims.Resource = token.MCPResource(base, claims.Company)
	again, err := s.Signer.Issue(claims)
	errtest.Must(s.t, err)
	return again
}

// as returns a request's way with a token.
type as string

// RoundTrip implements http.RoundTripper.
func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects the library's own client with the MCP token of a token for the API.
func (s *service) connect(bearer string) *mcp.ClientSession {
	s.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint: s.at + s.path("/mcp"), HTTPClient: &http.Client{Transport: as(s.mcpToken(bearer))}, MaxRetries: -1,
	}, nil)
	errtest.Must(s.t, err)
	s.t.Cleanup(func() { session.Close() })
	return session
}

// call calls a tool and returns its answer, which must be no error.
func (s *service) call(c *mcp.ClientSession, tool string, arguments map[string]any) map[string]any {
	s.t.Helper()
	r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	errtest.Must(s.t, err)
	if r.IsError {
		s.t.Fatalf("%s: %s", tool, textOf(r))
	}
	content, _ := r.StructuredContent.(map[string]any)
	var same map[string]any
	errtest.Must(s.t, json.Unmarshal([]byte(textOf(r)), &same))
	if len(same) != len(content) {
		s.t.Errorf("%s: the text has %d members, want those of the structured content, %d", tool, len(same), len(content))
	}
	return content
}

func textOf(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// names lists the tools that a client sees.
func (s *service) names(c *mcp.ClientSession) []string {
	s.t.Helper()
	list, err := c.ListTools(context.Background(), nil)
	errtest.Must(s.t, err)
	var all []string
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
	}
	return all
}

// hire configures and certifies an executive, and returns a token of its own.
func (s *service) hire(name string, actions []executive.Action, reads ...string) string {
	s.t.Helper()
	s.Do("POST", s.path("/executives"), s.A.Token, executive.Draft{
		Name: name, Role: "Keeps order", Owner: s.A.UserID, Actions: actions, QuotaPerDay: 100, Reads: reads,
	}).Want(201)
	s.Do("POST", s.path("/executives/"+executive.IDOf(name)+"/certification"), s.A.Token, nil).Want(200)
	return s.machine(map[string]any{"executive": executive.IDOf(name)})
}

// machine returns a token of a client of the founder.
func (s *service) machine(more map[string]any) string {
	s.t.Helper()
	body := map[string]any{"name": "Machine", "purpose": "Tests", "owner": s.A.UserID}
	for name, v := range more {
		body[name] = v
	}
	var made struct{ ClientID, ClientSecret string }
	s.Do("POST", s.path("/operations/clients"), s.A.Token, body).Want(201).JSON(&made)
	var issued struct {
		Token string `json:"access_token"`
	}
	s.Do("POST", "/auth/token", "", map[string]any{"grant_type": "client_credentials", "client_id": made.ClientID, "client_secret": made.ClientSecret}).
		Want(200).JSON(&issued)
	return issued.Token
}

// govern stores a policy of the company.
func (s *service) govern(name, cedar string) {
	s.t.Helper()
	s.Do("PUT", s.path("/operations/policies"), s.A.Token, map[string]any{"policies": []map[string]string{{"id": name, "text": cedar, "mode": "enforce"}}}, "If-None-Match", "*").Want(200)
}
