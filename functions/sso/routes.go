// Package sso signs the users of a company in through the company's identity provider: by OpenID Connect or SAML 2.0. A sign-in
// ends with a one-time code, which the group auth exchanges for a token. So this group signs no tokens.
package sso

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/user"
	"orgops/shared/identity/oidclogin"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// Deps holds what the group works with.
type Deps struct {
	Store  store.Store // for logins, which are outside of the company's partition
	Vault  integration.Vault
	Client *outbound.Client // calls identity providers
	Base   string           // the service's own address, without a slash at the end
	Former string           // another address of the service that goes on, with another path than Base; "": none
	Logger *slog.Logger
	Now    func() time.Time

	relying *oidclogin.Relying // set by Register
	egress  *http.Client
	starts  *web.SourceLimit // of the sign-ins that are begun
	answers *web.SourceLimit // of the providers' answers
}

// MaxFromSource bounds the sign-ins that one source begins in a minute, and the answers of providers that it brings. An office
// behind one address begins its day within it.
const MaxFromSource = 60

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Store: s.Store, Vault: s.Vault, Client: s.Client, Base: s.Base, Former: s.FormerBase, Logger: s.Logger, Now: s.Now})
}

// Register adds the group's operations to api.
func Register(api huma.API, d Deps) {
	d.egress = d.Client.HTTP()
	d.starts, d.answers = web.NewSourceLimit("sign-in", MaxFromSource, d.Now), web.NewSourceLimit("sign-in-answer", MaxFromSource, d.Now)
	d.relying = oidclogin.New(d.egress, d.checkAddress, d.Now)
	d.registerConfig(api)
	d.registerSignIn(api)
}

func (d Deps) registerConfig(api huma.API) {
	write := user.ScopeOperationsWrite
	web.Register(api, configure(http.MethodGet, "get-sso", "Get the identity provider",
		"How the company's users sign in, without the client secret. Needs the plan enterprise.", http.StatusOK, write), d.getConfig)
	web.Register(api, configure(http.MethodPut, "put-sso", "Configure the identity provider",
		"Replaces the configuration. The provider is asked for its discovery document or its metadata, so a wrong address is refused now. "+
			"The provider decides who signs in as whom, so only a founder configures it. Needs the plan enterprise.", http.StatusOK, write), d.putConfig)
	web.Register(api, configure(http.MethodDelete, "delete-sso", "Remove the identity provider",
		"Ends single sign-on, and destroys the client secret. Users and their tokens stay; a user without a password can no longer sign in.",
		http.StatusNoContent, write), d.deleteConfig)
}

func (d Deps) registerSignIn(api huma.API) {
	web.Register(api, web.Unaudited(web.Public(huma.Operation{
		OperationID: "start-sign-in", Method: http.MethodGet, Path: "/auth/sso/{companyId}/start", Tags: []string{"auth"}, DefaultStatus: http.StatusFound,
		Summary: "Sign in through the company's identity provider",
		Description: "Leads the browser to the provider. The sign-in ends at redirect_uri with a code and state, as the authorization code flow with PKCE does " +
			"(RFC 6749, RFC 7636); POST /auth/token exchanges the code once, within a minute. Without redirect_uri it ends in the console, with both in the fragment. " +
			"One network, an IPv4 address or an IPv6 /64, may begin 60 sign-ins a minute, and bring as many answers of providers.",
		Errors: []int{http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable},
	}), "it leads to the provider; the end of the sign-in is recorded"), d.start)
	callback := web.Audited(web.Public(huma.Operation{
		OperationID: "finish-oidc-sign-in", Method: http.MethodGet, Path: "/auth/sso/callback", Tags: []string{"auth"}, DefaultStatus: http.StatusFound,
		Summary: "End a sign-in by OpenID Connect",
		Description: "The redirect URI to register with the provider, which sends the browser here. Parameters that are not listed are ignored (RFC 6749 §4.1.2). " +
			"When the sign-in is refused, a browser (Accept: text/html) is led to redirect_uri with an error, or to the console's sign-in page with a code in the fragment.",
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
	}))
	callback.SkipValidateParams = true // a provider may add parameters of its own
	web.Register(api, callback, d.finishOIDC)
	web.Register(api, web.AuditedWrites(web.Public(huma.Operation{
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{metadataType: {Schema: &huma.Schema{Type: huma.TypeString}, Example: metadataExample}},
		}},
		OperationID: "get-saml-metadata", Method: http.MethodGet, Path: "/auth/saml/{companyId}/metadata", Tags: []string{"auth"},
		Summary:     "Get this service's SAML metadata",
		Description: "For the administrator of the identity provider. The address is the entity id. The document is the same whether or not the company exists.",
	})), d.getMetadata)
	web.Register(api, web.DescribeBody(web.Audited(web.Public(huma.Operation{
		OperationID: "finish-saml-sign-in", Method: http.MethodPost, Path: "/auth/saml/{companyId}/acs", Tags: []string{"auth"}, DefaultStatus: http.StatusFound,
		Summary: "End a sign-in by SAML",
		Description: "The assertion consumer service, to which the browser posts the provider's response (SAML bindings §3.5). A response without a request is refused. " +
			"When the sign-in is refused, a browser is led back as finish-oidc-sign-in does.",
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, MaxBodyBytes: maxResponse,
		Extensions: map[string]any{"x-internal": true}, // browsers alone send it, so generated clients leave it out
	})), responseForm()), d.finishSAML)
}

func configure(method, id, summary, description string, status int, scope string) huma.Operation {
	return web.AuditedWrites(huma.Operation{
		OperationID: id, Method: method, Path: "/companies/{companyId}/operations/sso", Summary: summary, Description: description,
		DefaultStatus: status, Tags: []string{"operations"}, Security: web.Needs(scope),
		Errors: []int{http.StatusForbidden},
	})
}

func (d Deps) company(companyID string) store.Company { return store.For(d.Store, companyID) }

// at returns d with the service's address at which a request arrived, so that a sign-in ends where it began.
func (d Deps) at(ctx context.Context) Deps {
	d.Base = web.BaseOf(ctx, d.Base, d.Former)
	return d
}

// callbackURL returns the redirect URI that companies register with their OpenID provider.
func (d Deps) callbackURL() string { return d.Base + "/auth/sso/callback" }
