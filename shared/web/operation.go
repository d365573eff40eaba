package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/identity/token"
)

// publicMark is the metadata key of an operation that needs no token.
const publicMark = "orgops-public"

// ownMark is the metadata key of an operation on the caller's own session.
const ownMark = "orgops-own"

// OwnToken marks an operation outside of a company's path that needs a valid token, with any scopes, of any company. Its
// tenant is the company of the token.
func OwnToken(op huma.Operation) huma.Operation {
	op.Security = Needs()
	return Personal(marked(op, ownMark, true))
}

// personalMark is the metadata key of an operation that only a person may ask for.
const personalMark = "orgops-personal"

// Personal marks an operation that only a person may ask for, and neither a client nor an executive, with any scopes.
func Personal(op huma.Operation) huma.Operation { return marked(op, personalMark, true) }

// resourceMark is the metadata key of an operation that is a protected resource of its own.
const resourceMark = "orgops-resource"

// Resource marks a company's MCP endpoint, which is a protected resource of its own (RFC 8707): it takes tokens for it alone, with any
// scopes, and no other operation takes them. bases are the service's own addresses, the current one first; a 401 names the document of
// RFC 9728 there.
func Resource(op huma.Operation, bases ...string) huma.Operation {
	op.Security = Needs()
	return marked(op, resourceMark, bases)
}

// boundMark is the metadata key of an operation that keeps to the caller's provider by itself.
const boundMark = "orgops-bound"

// scheme names the security scheme in the OpenAPI document.
const scheme = "bearer"

// Needs returns the Security of a company-scoped operation: a bearer token of the company with all of scopes.
func Needs(scopes ...string) []map[string][]string {
	return []map[string][]string{{scheme: append([]string{}, scopes...)}}
}

// NeedsOne returns the Security of a company-scoped operation: a bearer token of the company with one of scopes.
func NeedsOne(scopes ...string) []map[string][]string {
	var all []map[string][]string
	for _, scope := range scopes {
		all = append(all, Needs(scope)...)
	}
	return all
}

// Public marks an operation that needs no token. Its path must not be under /companies/{companyId}.
func Public(op huma.Operation) huma.Operation {
	return marked(op, publicMark, true)
}

// Bound marks an operation whose handler keeps to the provider that the caller is bound to, with Reach or Caller.Reaches.
// An operation without the mark answers a bound caller only if its path names the caller's provider.
func Bound(op huma.Operation) huma.Operation {
	return marked(op, boundMark, true)
}

// IsBound reports whether an operation is marked by Bound.
func IsBound(op *huma.Operation) bool { return op.Metadata[boundMark] == true }

// neverMark holds what Never was given.
const neverMark = "orgops-never"

// Never keeps statuses out of an operation's document that its form suggests and its handler never answers.
func Never(op huma.Operation, statuses ...int) huma.Operation {
	return marked(op, neverMark, statuses)
}

// challengeMark holds what Challenge was given.
const challengeMark = "orgops-challenge"

// Challenge names the authentication scheme that a public operation takes. Its 401 asks for that scheme instead of Bearer.
func Challenge(op huma.Operation, scheme string) huma.Operation {
	return marked(op, challengeMark, scheme)
}

// marked returns the operation with an entry set in a copy of its metadata.
func marked(op huma.Operation, name string, value any) huma.Operation {
	metadata := map[string]any{}
	maps.Copy(metadata, op.Metadata)
	metadata[name] = value
	op.Metadata = metadata
	return op
}

// rights says what a caller needs for an operation.
type rights struct {
	scopes   [][]string // alternatives; nil: the operation is public
	bound    bool
	own      bool // needs a token and no scope; see OwnToken
	personal bool
	bases    []string // of an operation marked by Resource
	mcp      []string // of the MCP endpoint: the scopes of which a caller needs one
}

func rightsOf(op *huma.Operation) rights {
	bases, _ := op.Metadata[resourceMark].([]string)
	mcp, _ := op.Metadata[mcpMark].([]string)
	return rights{scopesOf(op), IsBound(op), op.Metadata[ownMark] == true, op.Metadata[personalMark] == true, bases, mcp}
}

// challenge returns the WWW-Authenticate of a refusal. code is "" without a token (RFC 6750 §3.1). companyID is that of the path. scopes
// are those that the operation needs; the MCP endpoint names all that a client may want.
func (r rights) challenge(companyID, code string, scopes []string) string {
	var params []string
	if code != "" {
		params = append(params, `error="`+code+`"`)
	}
	if scopes = slices.Concat(scopes, r.mcp); len(scopes) > 0 {
		params = append(params, `scope="`+strings.Join(scopes, " ")+`"`)
	}
	if len(r.bases) > 0 && id.Valid(companyID) {
		params = append(params, `resource_metadata="`+token.MCPMetadata(r.bases[0], companyID)+`"`)
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

// resources lists the resources whose tokens the operation takes instead of the API's.
func (r rights) resources(companyID string) []string {
	var all []string
	for _, base := range r.bases {
		all = append(all, token.MCPResource(base, companyID))
	}
	return all
}

// check refuses a caller without the rights.
func (r rights) check(c Caller) error {
	if r.personal && c.Client != "" {
		return fault.New(fault.Forbidden, "only a person may do this; ask a user of the company")
	}
	if r.mcp != nil {
		if slices.ContainsFunc(r.mcp, c.Has) {
			return nil
		}
		return fault.New(fault.InsufficientScope, "the token needs one of the scopes "+strings.Join(r.mcp, ", "))
	}
	for _, scopes := range r.scopes {
		if !slices.ContainsFunc(scopes, func(scope string) bool { return !c.Has(scope) }) {
			return nil
		}
	}
	needed := make([]string, len(r.scopes))
	for n, scopes := range r.scopes {
		needed[n] = strings.Join(scopes, " ")
	}
	return fault.New(fault.InsufficientScope, "the token needs the scope "+strings.Join(needed, " or "))
}

const companyPath = "/companies/{companyId}"

// scopesOf returns the scopes that an operation requires, as alternatives, or nil for a public one. They are empty for an operation
// marked by OwnToken or Resource. It panics if the operation is neither guarded nor public, which is a programming error.
func scopesOf(op *huma.Operation) [][]string {
	scoped := op.Path == companyPath || strings.HasPrefix(op.Path, companyPath+"/")
	public := op.Metadata[publicMark] == true
	name := fmt.Sprintf("web: %s %s (%s)", op.Method, op.Path, op.OperationID)
	switch {
	case public && (strings.HasPrefix(op.Path, "/companies") || len(op.Security) > 0):
		panic(name + " is both public and guarded")
	case public:
		return nil
	case op.Metadata[ownMark] == true && !scoped, op.Metadata[resourceMark] != nil && scoped:
		return [][]string{{}}
	case !scoped:
		panic(name + " is neither under " + companyPath + " nor marked by web.Public")
	case len(op.Security) == 0:
		panic(name + " names no scope: set Security to web.Needs(…)")
	}
	all := make([][]string, len(op.Security))
	for n, needs := range op.Security {
		if all[n] = needs[scheme]; len(needs) != 1 || len(all[n]) == 0 {
			panic(name + " names no scope: set Security to web.Needs(…)")
		}
	}
	return all
}
