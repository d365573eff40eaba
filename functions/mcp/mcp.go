// Package mcp serves a company's MCP endpoint: the Model Context Protocol over streamable HTTP, without sessions. Its tools are
// operations of the API, which it asks for in process as the caller, so that a tool may do what its operation may, and nothing else.
package mcp

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/user"
	"orgops/shared/run/boot"
	"orgops/shared/web"
)

// Deps holds what the group works with.
type Deps struct {
	Bases        []string // the service's own addresses, without a slash at the end, the current one first; the console is there
	NoExecutives bool     // the Executive Runtime is left out
	Logger       *slog.Logger
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Bases: s.Bases(), NoExecutives: s.NoExecutives, Logger: s.Logger})
}

// Register adds the group's operation to api. The operations that its tools ask for are other groups' and on the same server.
func Register(api huma.API, d Deps) {
	op := huma.Operation{
		OperationID: "call-mcp", Method: http.MethodPost, Path: "/companies/{companyId}/mcp", Summary: "Call the MCP endpoint",
		Description: "Takes one message of the Model Context Protocol (streamable HTTP, without sessions; revisions 2024-11-05 to 2026-07-28). " +
			"The tools are operations of this API, under their ids, and a caller sees those that its token may ask for. Other methods are " +
			"refused (405). A foreign Origin or Host is refused (403).",
		DefaultStatus: http.StatusOK, Tags: []string{"mcp"},
	}
	op = web.AuditedRefusals(web.MCP(op, d.Bases, scopes()...), "the operation that a tool asks for has a record of its own")
	web.Register(api, op, d.serve, describe)
}

// scopes lists the scopes of which a caller needs one: with none of them it could ask for nothing.
func scopes() []string {
	return []string{
		user.ScopeIntelligenceRead, user.ScopeIntelligenceWrite, user.ScopeMissionControlRead, user.ScopeMemoryRead, user.ScopeIntegrationsRead,
		user.ScopeOperationsRead, user.ScopeExecutivesRead, user.ScopeExecutivesAct, user.ScopeExecutivesWrite,
	}
}

// describe documents the answers.
func describe(op huma.Operation) huma.Operation {
	message := &huma.Schema{Type: huma.TypeObject, Description: "A message of JSON-RPC 2.0", AdditionalProperties: true}
	op.Responses = map[string]*huma.Response{
		"200": {Description: "The answer to a request", Content: map[string]*huma.MediaType{"application/json": {Schema: message}}},
		"202": {Description: "A notification was taken", Content: map[string]*huma.MediaType{}},
	}
	return web.DescribeBody(op, web.Body{Schema: message})
}

type input struct {
	RawBody []byte `contentType:"application/json"`
}

func (d Deps) serve(ctx context.Context, in *input) (*huma.StreamResponse, error) {
	e, err := d.exchange(ctx)
	if err != nil {
		return nil, err
	}
	return web.Handled(in.RawBody, e.handler()), nil
}
