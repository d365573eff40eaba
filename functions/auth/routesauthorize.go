package auth

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/web"
)

// registerAuthorization adds the operations of the authorization server for third parties.
func registerAuthorization(api huma.API, deps Deps) {
	authorization := web.AuditedWrites(web.Never(web.Public(huma.Operation{
		OperationID: "authorize", Method: http.MethodGet, Path: "/auth/authorize", Tags: []string{"auth"},
		Summary: "Ask a person to let a third party act",
		Description: "The authorization endpoint (RFC 6749 §3.1), for the authorization code with PKCE (S256 alone). client_id is the address of a Client ID Metadata Document, which is read under the rules of egress: " +
			"https, a public address, no redirect, at most 10 KiB, with the same client_id in it. Without a known third party and one of its redirects the answer is an error; any other error leads back to it, with error, state and iss (RFC 9207). " +
			"A good request leads to the consent page of the console, where a person of the company chooses the scopes or an executive. A third party never gets scopes to configure, certify, approve or manage. Parameters that are not listed are ignored (RFC 6749 §3.1). A network has 60 documents a minute read.",
		Errors: []int{http.StatusTooManyRequests}, DefaultStatus: http.StatusFound,
	})))
	authorization.SkipValidateParams = true // a third party may add parameters of its own
	web.Register(api, authorization, deps.authorize)
	web.Register(api, web.Unaudited(web.OwnToken(huma.Operation{
		OperationID: "get-consent", Method: http.MethodGet, Path: "/auth/consent", Tags: []string{"auth"},
		Summary:     "See what a third party asks for",
		Description: "For the consent page, with the parameters of the authorization request: who asks, for which company, and what the caller can give.",
	}), "a read changes nothing"), deps.showConsent)
	web.Register(api, web.Audited(web.OwnToken(huma.Operation{
		OperationID: "consent", Method: http.MethodPost, Path: "/auth/consent", Tags: []string{"auth"},
		Summary: "Let a third party act, or refuse it",
		Description: "Answers where the browser goes: to the third party, with a code that it exchanges within a minute, once, or with an error. A person gives scopes of their own, or, as a founder, lets it act as an executive. " +
			"GET /companies/{companyId}/operations/grants lists what was given.",
		MaxBodyBytes: maxLogin, DefaultStatus: http.StatusOK,
	})), deps.decide)
	for _, name := range []string{"oauth-authorization-server", "openid-configuration"} {
		web.Register(api, web.AuditedWrites(web.Public(huma.Operation{
			OperationID: "get-" + name, Method: http.MethodGet, Path: "/.well-known/" + name, Tags: []string{TagService},
			Summary:     "Get the metadata of the authorization server, as " + name,
			Description: "RFC 8414. Both names lead to the same document, because below a path only openid-configuration can be found (OpenID Connect Discovery 1.0 §4).",
		})), deps.getServerMetadata)
	}
	web.Register(api, web.AuditedWrites(web.Public(huma.Operation{
		OperationID: "get-mcp-resource", Method: http.MethodGet, Path: "/.well-known/oauth-protected-resource/companies/{companyId}/mcp", Tags: []string{TagService},
		Summary:     "Get the metadata of a company's MCP endpoint",
		Description: "RFC 9728. The same for every id, so that no stranger learns which companies exist.",
	})), deps.getResourceMetadata)
}
