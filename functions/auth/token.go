package auth

import (
	"context"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// The grants of TokenRequest.
const (
	grantCode        = "authorization_code"
	grantCredentials = "client_credentials"
	grantRefresh     = "refresh_token"
	grantExchange    = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// accessToken is the type of the tokens that are exchanged (RFC 8693 §3).
const accessToken = "urn:ietf:params:oauth:token-type:access_token"

// TokenRequest holds the parameters of an access token request (RFC 6749 §4.1.3 and §4.4.2, RFC 7636 §4.5, RFC 7523 §2.2, RFC 8693
// §2.1), as a form or as JSON.
type TokenRequest struct {
	GrantType string `json:"grant_type" maxLength:"100" doc:"what the token is given for: authorization_code, refresh_token, client_credentials or urn:ietf:params:oauth:grant-type:token-exchange" example:"client_credentials"`
	Code      string `json:"code,omitempty" maxLength:"256" format:"password" doc:"authorization_code: the code that a sign-in or a consent ended with" example:"0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11.5MZ2NXQ4RBL6T3WUK7VYJ2CDPE"`
	Redirect  string `json:"redirect_uri,omitempty" maxLength:"2048" doc:"authorization_code: the redirect_uri that the sign-in or the authorization began with; absent if it had none" example:"https://dashboard.example.com/signed-in"`
	Verifier  string `json:"code_verifier,omitempty" minLength:"43" maxLength:"128" format:"password" doc:"authorization_code: the verifier of the code_challenge that it began with" example:"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"`

	RefreshToken string `json:"refresh_token,omitempty" maxLength:"256" format:"password" doc:"refresh_token: the newest refresh token of a third party, which counts once"`

	ClientProof
	Scope    string `json:"scope,omitempty" maxLength:"500" doc:"the scopes that are wanted, separated by spaces, of those that the client, the executive, the grant or the person has; absent: all of them" example:"intelligence:read"`
	Resource string `json:"resource,omitempty" maxLength:"500" format:"uri" doc:"what the token is for (RFC 8707), the address of the company's MCP endpoint or that of the service; absent: the API, or of a grant what was authorized. A token opens nothing else" example:"https://api.example.com/companies/0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11/mcp"`

	SubjectToken     string `json:"subject_token,omitempty" maxLength:"4096" format:"password" doc:"token exchange: the token of the user for whom the executive acts, or of the person who changes to another company"`
	SubjectTokenType string `json:"subject_token_type,omitempty" enum:"urn:ietf:params:oauth:token-type:access_token" doc:"token exchange: the kind of subject_token"`
	Audience         string `json:"audience,omitempty" maxLength:"64" doc:"token exchange without an actor_token: the id of another company of the person" example:"0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11"`
	ActorToken       string `json:"actor_token,omitempty" maxLength:"4096" format:"password" doc:"token exchange: the executive's own token, which its client got"`
	ActorTokenType   string `json:"actor_token_type,omitempty" enum:"urn:ietf:params:oauth:token-type:access_token" doc:"token exchange: the kind of actor_token"`
}

// ClientProof says which client asks, and proves it (RFC 6749 §2.3, RFC 7523 §2.2).
type ClientProof struct {
	ClientID      string `json:"client_id,omitempty" maxLength:"2048" doc:"the client_id of the client or of the third party; absent if the Authorization header or the assertion names it" example:"0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11.0198c5f2-7a00-7000-8000-00000000000b"`
	ClientSecret  string `json:"client_secret,omitempty" maxLength:"200" format:"password" doc:"the client's secret, unless the Authorization header has it" example:"orgops_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp"`
	AssertionType string `json:"client_assertion_type,omitempty" enum:"urn:ietf:params:oauth:client-assertion-type:jwt-bearer" doc:"the kind of client_assertion"`
	Assertion     string `json:"client_assertion,omitempty" maxLength:"8192" format:"password" doc:"a JWT signed with a registered key, whose iss and sub are the client_id and whose aud is the issuer of the service alone; or a token of the client's federation, with client_id"`
}

type tokenInput struct {
	Authorization string `header:"Authorization" hidden:"true"`
	Body          TokenRequest
}

// issueToken gives a token for what the grant type names.
func (d Deps) issueToken(ctx context.Context, in *tokenInput) (*loginOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	switch in.Body.GrantType {
	case grantCode:
		return d.exchangeCode(ctx, in.Body)
	case grantCredentials:
		return d.issueToClient(ctx, in)
	case grantRefresh:
		return d.refresh(ctx, in.Body)
	case grantExchange:
		if in.Body.Audience != "" {
			return d.switchCompany(ctx, in.Body)
		}
		return d.delegate(ctx, in.Body)
	}
	return nil, web.OAuthError("unsupported_grant_type", fault.New(fault.Malformed, "the grant_type is not known; send authorization_code, refresh_token, client_credentials or urn:ietf:params:oauth:grant-type:token-exchange"))
}

// resource returns the resource of a token of a company for the resource of a request. It refuses a resource that the company does not
// have (RFC 8707 §2). An earlier address of the service counts as its current one.
func (d Deps) resource(address, companyID string) (string, error) {
	of, ok := d.companyOf(address)
	switch {
	case ok && of == "":
		return "", nil
	case ok && of == companyID:
		return token.MCPResource(d.Issuers[0], companyID), nil
	}
	return "", errTarget("the resource is not one of the company; send the address of its MCP endpoint or of the service")
}

// sign answers a token with these claims, for a company that it reads.
func (d Deps) sign(ctx context.Context, claims token.Claims) (session, error) {
	c, _, err := company.Get(ctx, store.For(d.Store, claims.Company))
	if err != nil {
		return session{}, err
	}
	return d.signFor(ctx, c, claims)
}

// signFor answers a token with these claims, for a company that was read.
func (d Deps) signFor(ctx context.Context, c company.Company, claims token.Claims) (session, error) {
	signer, err := d.Keys.Signer(ctx)
	if err != nil {
		return session{}, err
	}
	claims.Plan = c.Plan
	text, err := signer.Issue(claims)
	left := token.Lifetime
	if !claims.Expires.IsZero() {
		left = min(left, claims.Expires.Sub(d.Now()))
	}
	return session{
		AccessToken: text, TokenType: "Bearer", ExpiresIn: int(left.Seconds()), Scope: strings.Join(claims.Scopes, " "), CompanyID: c.ID,
		Companies: []Membership{},
	}, err
}
