// Package auth serves the login with e-mail and password, the invitation, the caller's own password and sessions, the public
// keys that verify access tokens, the liveness check and the explanations of problem types.
package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/metric"
	"orgops/shared/base/version"
	"orgops/shared/domain/company"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// Deps holds what the group works with.
type Deps struct {
	Store   store.Store
	Hasher  *password.Hasher
	Keys    token.Keys
	Client  *outbound.Client // reads the keys of clients' federations and the documents of third parties
	Issuers []string         // the service's own names, which an assertion may be for
	Vault   company.Vault    // seals the secrets of second factors
	Metrics *metric.Recorder // nil: no metrics are recorded
	Now     func() time.Time // nil: time.Now

	federations *federations
	documents   *clientDocuments
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Store: s.Store, Hasher: password.New(), Vault: s.Vault, Keys: s.Keys, Client: s.Client, Issuers: s.Bases(), Metrics: s.Metrics, Now: s.Now})
}

// TagService is the tag of the operations about the service itself.
const TagService = "service"

// Register adds the group's operations to api.
func Register(api huma.API, deps Deps) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	deps.federations, deps.documents = newFederations(deps.Client, deps.Now), newClientDocuments(deps.Client.Public(), deps.Now)
	registerAuthorization(api, deps)
	web.Register(api, web.Audited(web.Public(huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/auth/login", Tags: []string{"auth"},
		Summary:     "Log in with e-mail and password",
		Description: "Each e-mail address has ten tries a minute from one network, an IPv4 address or an IPv6 /64, and 100 in all; a network has 100 tries a minute for all addresses. An unknown address and a wrong password get the same answer, after the same time. A person may belong to several companies: the answer lists them, and company chooses. A person with a second factor gets no token for the password, but 401 second-factor-required with a challenge, for POST /auth/challenge.",
		Errors:      []int{http.StatusUnauthorized, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	})), deps.login)
	web.Register(api, web.Audited(web.Public(huma.Operation{
		OperationID: "accept-invitation", Method: http.MethodPost, Path: "/auth/invitation", Tags: []string{"auth"},
		Summary:     "Accept an invitation",
		Description: "Makes the person a user of the company and answers a token. A person with a login sends its password, which stays, or no password and the token of a session in another company. Any other person sends a new password, of 8 to 128 characters of any kind; a common one, or one made of the user's name and address, is refused. An invitation is accepted once, within 24 hours. A try counts as a login does.",
		Errors:      []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	})), deps.acceptInvitation)
	web.Register(api, web.OAuth[TokenRequest](web.Audited(web.Public(huma.Operation{
		OperationID: "issue-token", Method: http.MethodPost, Path: "/auth/token", Tags: []string{"auth"},
		Summary: "Get a token for a sign-in, as a client, or to act for a user",
		Description: "Takes JSON, or a form as RFC 6749 has it. authorization_code: gives the token for the code with which a sign-in through the company's identity provider ended; a code is exchanged once, within a minute, by the client that began the sign-in (RFC 6749 §4.1.3, RFC 7636); or the tokens for the code of a consent, to the third party that asked for it. " +
			"refresh_token: gives a third party new tokens, and a new refresh token; one that was used before ends them all. " +
			"client_credentials: gives a token of at most an hour to a client (RFC 6749 §4.4) that proves itself by a secret, in the body or by HTTP Basic, by an assertion that it signs (RFC 7523), whose aud is the issuer of the service alone, whose jti counts once and which ends within 5 minutes, or by a token of its federation. " +
			"urn:ietf:params:oauth:grant-type:token-exchange: gives an executive a token to act for a user (RFC 8693 §4.1), with the user's token as the subject and the executive's own as the actor; it does no more than either. " +
			"With an audience, the same grant gives a person a token of another of their companies, which expires with the subject token; the user of an identity provider has no other companies. A session that began without a second factor leads to no company that requires one. " +
			"An unknown client and a wrong secret get the same answer. The errors of a form have error and error_description (RFC 6749 §5.2). A try counts as one of the network's 100 a minute, as a login does.",
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	}))), deps.issueToken)
	web.Register(api, web.OAuth[RevocationRequest](web.Audited(web.Public(huma.Operation{
		OperationID: "revoke-token", Method: http.MethodPost, Path: "/auth/revoke", Tags: []string{"auth"},
		Summary: "End one token",
		Description: "Takes JSON, or a form as RFC 7009 has it. The token is refused within five seconds. A client with credentials proves itself as for POST /auth/token, and ends its own tokens alone; a user's own token needs no more than itself. " +
			"A token that is not accepted any more gets the same answer as one that ends now. A principal ends at most 100 tokens in an hour by themselves. A try counts as one of the network's 100 a minute, as a login does.",
		Errors: []int{http.StatusUnauthorized, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin, DefaultStatus: http.StatusOK,
	}))), deps.revoke)
	web.Register(api, web.Audited(web.OwnToken(huma.Operation{
		OperationID: "change-password", Method: http.MethodPost, Path: "/auth/password", Tags: []string{"auth"},
		Summary:     "Change one's own password",
		Description: "The password is the same in all companies of the person. Ends all tokens of the person, in every company, this one too, within five seconds. The current password counts as a login try.",
		Errors:      []int{http.StatusTooManyRequests}, MaxBodyBytes: maxLogin, DefaultStatus: http.StatusNoContent,
	})), deps.changePassword)
	web.Register(api, web.Audited(web.OwnToken(huma.Operation{
		OperationID: "sign-out", Method: http.MethodPost, Path: "/auth/sign-out", Tags: []string{"auth"},
		Summary:       "Sign out everywhere",
		Description:   "Ends all tokens of the person, in every company, this one too, within five seconds. After a sign-in through a company's identity provider: those of that company.",
		DefaultStatus: http.StatusNoContent,
	})), deps.signOut)
	deps.registerReset(api)
	deps.registerChallenge(api)
	deps.registerFactors(api)
	deps.registerUnsubscribe(api)
	web.Register(api, web.AuditedWrites(web.Public(huma.Operation{
		OperationID: "get-keys", Method: http.MethodGet, Path: "/.well-known/jwks.json", Tags: []string{TagService},
		Summary:     "Get the public keys that verify access tokens",
		Description: "A JSON Web Key Set (RFC 7517): the current key first, then the previous key, whose tokens are still accepted.",
	})), deps.getKeys)
	web.Register(api, web.AuditedWrites(web.Public(huma.Operation{
		OperationID: "get-liveness", Method: http.MethodGet, Path: "/healthz", Tags: []string{TagService},
		Summary:     "Check that the process answers",
		Description: "For load balancers. It checks nothing else: the process counts as healthy even when the store is unavailable.",
	})), getLiveness)
	web.RegisterProblemTypes(api, TagService)
}

// keySet encodes the key document in its own media type (RFC 7517 §8.5).
type keySet token.JWKSet

// ContentType returns the media type of a JWK Set.
func (keySet) ContentType(string) string { return "application/jwk-set+json" }

type keysOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         keySet
}

func (d Deps) getKeys(ctx context.Context, _ *struct{}) (*keysOutput, error) {
	keys, err := d.Keys.Public(ctx)
	if err != nil {
		return nil, err
	}
	return &keysOutput{CacheControl: "public, max-age=300", Body: keySet(keys.JWKS())}, nil
}

// Liveness says that the process answers.
type Liveness struct {
	Status  string `json:"status" doc:"pass: the process answers" enum:"pass"`
	Version string `json:"version" doc:"the release" example:"0.1.0"`
	Commit  string `json:"commit,omitempty" doc:"the commit that the process was built from, with -dirty if the source differed; absent in the deployed functions" example:"3fbfd39c1d5e0a6f5b8a4f0c9d2e7b6a1c3d4e5f"`
}

type livenessOutput struct{ Body Liveness }

func getLiveness(context.Context, *struct{}) (*livenessOutput, error) {
	built := version.Get()
	return &livenessOutput{Liveness{Status: "pass", Version: built.Release, Commit: built.Commit}}, nil
}
