package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scheme begins the URI of every resource. The endpoint tells the company.
const scheme = "orgops://company/"

// mediaType is the form of every resource.
const mediaType = "application/json"

// addResources adds the brief, the context and the records of each kind, as far as the caller may read them.
func (e *exchange) addResources(s *mcp.Server) {
	for operation, id := range Resources() {
		o, ok := e.allowed[operation]
		if !ok {
			continue
		}
		uri, read := scheme+strings.TrimPrefix(operation, "get-"), e.read(o, id)
		if id == "" {
			s.AddResource(&mcp.Resource{URI: uri, Name: o.Name, Title: o.Title, Description: o.Description, MIMEType: mediaType}, read)
			continue
		}
		s.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: uri + "/{" + id + "}", Name: o.Name, Title: o.Title, Description: o.Description, MIMEType: mediaType,
		}, read)
	}
}

// read returns the handler of a resource.
func (e *exchange) read(o Operation, id string) mcp.ResourceHandler {
	return func(_ context.Context, r *mcp.ReadResourceRequest) (_ *mcp.ReadResourceResult, err error) {
		defer e.recovered(&err)
		arguments := map[string]json.RawMessage{}
		if id != "" {
			given, _ := json.Marshal(r.Params.URI[strings.LastIndex(r.Params.URI, "/")+1:]) // text
			arguments[id] = given
		}
		result, err := e.answer(o, arguments)
		if err != nil {
			return nil, err
		}
		if result.IsError {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		text := result.Content[0].(*mcp.TextContent).Text
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: mediaType, Text: text}}}, nil
	}
}
