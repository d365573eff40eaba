package auth_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/token"
	"orgops/shared/web"
)

// withEndpoint adds an endpoint with an address of its own, as MCP's is.
func withEndpoint(m *machines) *machines {
	op := web.Bound(web.Resource(huma.Operation{OperationID: "endpoint", Method: http.MethodPost, Path: "/companies/{companyId}/mcp"}, issuer))
	web.Register(m.API(), op, func(context.Context, *struct{}) (*struct{}, error) { return &struct{}{}, nil })
	return m
}

// TestResource gives tokens for one address. Each opens that address alone, and none is exchanged for one of another address.
func TestResource(t *testing.T) {
	t.Parallel()
	m := withEndpoint(newMachines(t))
	c := m.create(nil)
	of := func(address string) object {
		return object{"grant_type": "client_credentials", "client_id": c.ClientID, "client_secret": c.ClientSecret, "resource": address}
	}
	mcp := token.MCPResource(issuer, m.A.ID)
	narrow, wide := got(m.form(of(mcp)).Want(200)).Text, got(m.form(of(issuer)).Want(200)).Text
	status := map[string]int{}
	for name, text := range map[string]string{"for MCP": narrow, "for the API": wide, "a founder's": m.A.Token} {
		status[name+" at MCP"] = m.Do("POST", m.at("/mcp"), text, nil).Status
		status[name+" at the API"] = m.Do("GET", m.at("/memory"), text, nil).Status
		status[name+" at another company's MCP"] = m.Do("POST", "/companies/"+m.B.ID+"/mcp", text, nil).Status
	}
	want := map[string]int{
		"for MCP at MCP": 204, "for MCP at the API": 401, "for MCP at another company's MCP": 401,
		"for the API at MCP": 401, "for the API at the API": 200, "for the API at another company's MCP": 401,
		"a founder's at MCP": 401, "a founder's at the API": 200, "a founder's at another company's MCP": 401,
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
	document := token.MCPMetadata(issuer, m.A.ID)
	for text, want := range map[string]string{
		"":   `Bearer resource_metadata="` + document + `"`,
		wide: `Bearer error="invalid_token", resource_metadata="` + document + `"`,
	} {
		if got := m.Do("POST", m.at("/mcp"), text, nil).Header.Get("WWW-Authenticate"); got != want {
			t.Errorf("WWW-Authenticate = %q, want %q", got, want)
		}
	}
	for _, address := range []string{token.MCPResource(issuer, m.B.ID), mcp + "/", issuer + "/", "https://evil.test", "urn:x"} {
		m.wantRefused(address, m.form(of(address)), 400, "invalid_target")
	}
}

// TestResource_Executive gives an executive, and a founder for whom it acts, tokens for MCP. A token for MCP is not exchanged.
func TestResource_Executive(t *testing.T) {
	t.Parallel()
	m := withEndpoint(newMachines(t))
	_, text := m.executive("Chief of Staff")
	mcp := token.MCPResource(issuer, m.A.ID)
	acting := m.actFor(m.A.Token, text, "resource", mcp).Want(200)
	m.Do("POST", m.at("/mcp"), got(acting).Text, nil).Want(204)
	m.Do("GET", m.at("/memory"), got(acting).Text, nil).WantProblem(401, "unauthenticated")
	m.wantRefused("a token for MCP as the subject", m.actFor(got(acting).Text, text), 400, "invalid_request")
	m.wantRefused("a token for MCP as the actor", m.actFor(m.A.Token, got(acting).Text), 400, "invalid_request")
}
