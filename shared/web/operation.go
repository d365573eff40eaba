package web

import (
	"fmt"
	"maps"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The mark of an operation that anybody may call.
const publicMark = "orgops-public"

// scheme is the name of the security scheme in the OpenAPI document.
const scheme = "bearer"

// Needs is the Security of a company-scoped operation: a bearer token of the company with every one of scopes.
func Needs(scopes ...string) []map[string][]string {
	return []map[string][]string{{scheme: scopes}}
}

// Public marks an operation that needs no token. It must not lie under /companies/{id}.
func Public(op huma.Operation) huma.Operation {
	metadata := map[string]any{publicMark: true}
	maps.Copy(metadata, op.Metadata)
	op.Metadata = metadata
	return op
}

const companyPath = "/companies/{id}"

// scopesOf is what an operation demands: nil for a public one. It panics where an operation is neither guarded nor
// public, which is a mistake in the program.
func scopesOf(op *huma.Operation) []string {
	scoped := op.Path == companyPath || strings.HasPrefix(op.Path, companyPath+"/")
	public := op.Metadata[publicMark] == true
	name := fmt.Sprintf("web: %s %s (%s)", op.Method, op.Path, op.OperationID)
	switch {
	case public && (strings.HasPrefix(op.Path, "/companies") || len(op.Security) > 0):
		panic(name + " is public and guarded at once")
	case public:
		return nil
	case !scoped:
		panic(name + " is neither under " + companyPath + " nor marked by web.Public")
	case len(op.Security) != 1 || len(op.Security[0]) != 1 || len(op.Security[0][scheme]) == 0:
		panic(name + " names no scope: set Security to web.Needs(…)")
	}
	return op.Security[0][scheme]
}
