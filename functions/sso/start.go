package sso

import (
	"context"
	"net/http"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/domain/sso"
	"orgops/shared/identity/oidclogin"
	"orgops/shared/identity/samllogin"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// The cookies tie a sign-in to the browser that began it. OpenID Connect comes back by a link, for which Lax suffices. SAML
// comes back by a form that another site posts, which needs None. A page of another site cannot read or set either.
const (
	cookieOIDC = "__Host-orgops-sso"
	cookieSAML = "__Host-orgops-saml"
)

type startInput struct {
	Company         string `path:"companyId" maxLength:"64" doc:"The company"`
	Challenge       string `query:"code_challenge" required:"true" pattern:"^[A-Za-z0-9_-]{43}$" patternDescription:"the 43 characters of a SHA-256 in base64url" doc:"The S256 challenge of a verifier that the client keeps (RFC 7636 §4.2)" example:"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"`
	ChallengeMethod string `query:"code_challenge_method" required:"true" enum:"S256" doc:"How the challenge was made"`
	Redirect        string `query:"redirect_uri" maxLength:"2048" doc:"Where the sign-in ends: one of the configured redirects. Without it, the console"`
	State           string `query:"state" maxLength:"512" doc:"Given back at the end; bind it to the browser" example:"af0ifjsldkj"`
}

// redirectOutput leads the browser on.
type redirectOutput struct {
	Status         int
	Location       string        `header:"Location" doc:"where the browser goes"`
	SetCookie      []http.Cookie `header:"Set-Cookie" doc:"ties the sign-in to the browser"`
	CacheControl   string        `header:"Cache-Control"`
	ReferrerPolicy string        `header:"Referrer-Policy"`
}

func leadTo(location string) *redirectOutput {
	return &redirectOutput{Status: http.StatusFound, Location: location, CacheControl: "no-store", ReferrerPolicy: "no-referrer"}
}

// start stores the sign-in and leads to the provider.
func (d Deps) start(ctx context.Context, in *startInput) (*redirectOutput, error) {
	d = d.at(ctx)
	if err := d.starts.Take(ctx); err != nil {
		return nil, err
	}
	if !id.Valid(in.Company) {
		return nil, errNone()
	}
	c := d.company(in.Company)
	config, err := d.load(ctx, c)
	if fault.KindOf(err) == fault.PlanRequired { // a stranger learns neither that the company exists nor its plan
		err = errNone()
	}
	if err != nil {
		return nil, err
	}
	if err := halted(ctx, c); err != nil {
		return nil, err
	}
	if in.Redirect != "" && !slices.Contains(config.Redirects, in.Redirect) {
		return nil, fault.RefuseAt("#/query/redirect_uri", "is not one of the company's redirects; compare every character")
	}
	cookie := cookieOf(ctx, config.Protocol)
	t := sso.Try{
		Bound: roundtrip.Bind(cookie.Value, d.Now()), Protocol: config.Protocol, Issuer: config.Issuer(),
		Asked: sso.Asked{Redirect: in.Redirect, Challenge: in.Challenge, State: in.State},
	}
	secret := sso.Secret()
	location, err := d.begin(ctx, c, config, &t, secret)
	if err != nil {
		return nil, err
	}
	if err := c.Commit(ctx, sso.Begin(c, secret, t)); err != nil {
		return nil, store.Fault(err, "")
	}
	out := leadTo(location)
	out.SetCookie = []http.Cookie{cookie}
	return out, nil
}

// load returns the configuration of a company that has one and whose plan allows it.
func (d Deps) load(ctx context.Context, c store.Company) (sso.Config, error) {
	config, version, err := sso.Load(ctx, c)
	if err != nil {
		return config, err
	}
	if version == 0 {
		return config, errNone()
	}
	return config, sso.CheckPlan(ctx, c)
}

// begin completes the sign-in and returns the address at the provider.
func (d Deps) begin(ctx context.Context, c store.Company, config sso.Config, t *sso.Try, secret string) (string, error) {
	if config.Protocol == sso.OIDC {
		t.ClientID, t.Nonce, t.Verifier = config.OIDC.ClientID, sso.Secret(), oidclogin.NewVerifier()
		location, err := d.relying.Begin(ctx, d.client(config, ""), c.ID()+"."+secret, t.Nonce, t.Verifier)
		return location, unreachable(err)
	}
	config.SAML = d.refreshed(ctx, c, config.SAML)
	provider, err := samllogin.Parse([]byte(config.SAML.Metadata), d.Now())
	if err != nil {
		return "", fault.Wrap(fault.Conflict, "the identity provider's metadata: it "+err.Error()+"; a founder has to configure it again", err)
	}
	location, requestID, err := d.service(c.ID()).Begin(provider, secret)
	t.RequestID = requestID
	return location, err
}

// unreachable reports a provider that gives no usable discovery document.
func unreachable(err error) error {
	if err == nil {
		return nil
	}
	e := fault.Wrap(fault.Unavailable, "the company's identity provider cannot be used now: "+outbound.Explain(err), err)
	e.RetryAfter = 5 * time.Second
	return e
}

func (d Deps) client(config sso.Config, secret string) oidclogin.Client {
	return oidclogin.Client{
		Issuer: config.OIDC.Issuer, ID: config.OIDC.ClientID, Secret: secret, Redirect: d.callbackURL(), Scopes: config.OIDC.Scopes,
	}
}

// cookieOf returns the browser's cookie for a protocol.
func cookieOf(ctx context.Context, protocol sso.Protocol) http.Cookie {
	if protocol == sso.SAML {
		return web.BrowserCookie(ctx, cookieSAML, roundtrip.Lifetime, http.SameSiteNoneMode)
	}
	return web.BrowserCookie(ctx, cookieOIDC, roundtrip.Lifetime, http.SameSiteLaxMode)
}
