package auth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/client"
	"orgops/shared/domain/company"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/user"
	"orgops/shared/identity/assertion"
	"orgops/shared/identity/clientsecret"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// credentials holds what a client sent to prove who it is: a secret or an assertion.
type credentials struct {
	clientID string
	secret   string
	basic    bool // the Authorization header had them
	asserted *assertion.Assertion
}

// errClient refuses a client. An unknown one and a wrong proof get the same answer.
func (c credentials) errClient() error {
	err := web.OAuthError("invalid_client", fault.New(fault.Unauthenticated, "the client is unknown, or its proof is not accepted"))
	if c.basic {
		return huma.ErrorWithHeaders(err, http.Header{"WWW-Authenticate": {`Basic realm="clients"`}})
	}
	return err
}

func unauthorized(why string) error {
	return web.OAuthError("unauthorized_client", fault.New(fault.Malformed, why))
}

// credentialsOf reads the credentials of a request, which has exactly one kind of them (RFC 6749 §2.3).
func credentialsOf(authorization string, in ClientProof) (credentials, error) {
	c := credentials{clientID: in.ClientID, secret: in.ClientSecret}
	several := c.secret != "" && in.Assertion != ""
	if isBasic(authorization) {
		named, secret, ok := basic(authorization)
		if c.basic = true; !ok {
			return c, c.errClient()
		}
		several = several || c.secret != "" || in.Assertion != "" || c.clientID != "" && c.clientID != named
		c.clientID, c.secret = named, secret
	}
	if several {
		return c, web.OAuthError("invalid_request", fault.New(fault.Malformed, "the client proves itself in several ways; send one of them"))
	}
	if in.Assertion != "" {
		if in.AssertionType == "" {
			return c, fault.Refuse([]fault.FieldError{{Pointer: "/client_assertion_type", Detail: "client_assertion needs it"}})
		}
		a, err := assertion.Read(in.Assertion)
		if err != nil {
			return c, c.errClient()
		}
		if c.asserted = &a; c.clientID == "" {
			c.clientID = a.Subject()
		}
	}
	if c.clientID == "" || c.asserted == nil && !clientsecret.Valid(c.secret) { // a typing error costs no look at the store
		return c, c.errClient()
	}
	return c, nil
}

// isBasic reports whether an Authorization header has a client's credentials. A bearer token proves no client.
func isBasic(header string) bool {
	scheme, _, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Basic")
}

// basic reads an Authorization header, whose parts are encoded as in a form (RFC 6749 §2.3.1).
func basic(header string) (name, secret string, ok bool) {
	name, secret, ok = (&http.Request{Header: http.Header{"Authorization": {header}}}).BasicAuth()
	if !ok {
		return "", "", false
	}
	name, err := url.QueryUnescape(name)
	if err != nil {
		return "", "", false
	}
	secret, err = url.QueryUnescape(secret)
	return name, secret, err == nil
}

// issueToClient gives a client a token.
func (d Deps) issueToClient(ctx context.Context, in *tokenInput) (*loginOutput, error) {
	c, s, err := d.proven(ctx, in.Authorization, in.Body.ClientProof)
	if err != nil {
		return nil, err
	}
	by := web.Caller{UserID: s.ID, Company: c.ID(), Client: s.ID}
	claims, err := d.claimsOf(ctx, c, s, in.Body.Scope)
	if err != nil {
		return nil, err
	}
	if claims.Resource, err = d.resource(in.Body.Resource, c.ID()); err != nil {
		return nil, err
	}
	out, err := d.sign(ctx, claims)
	if err != nil {
		return nil, err
	}
	by.UserID, by.Executive, by.TokenID = claims.Subject, claims.Executive, claims.ID
	web.Identify(ctx, c, by)
	if err := s.Use(ctx, c, d.Now()); err != nil {
		return nil, err
	}
	return &loginOutput{CacheControl: "no-store", Body: out}, nil
}

// proven returns the client that a request proves to be of, and the store of its company. A request without a known client costs the same
// reads and writes as one with a wrong proof.
func (d Deps) proven(ctx context.Context, authorization string, in ClientProof) (store.Company, client.Stored, error) {
	sent, err := credentialsOf(authorization, in)
	if err != nil {
		return store.Company{}, client.Stored{}, err
	}
	companyID, own, _ := client.Split(sent.clientID)
	c := store.For(d.Store, companyID)
	s, err := d.find(ctx, c, own)
	if fault.KindOf(err) == fault.NotFound {
		d.refuse(ctx, store.Login(sent.clientID), 0)
		return c, s, sent.errClient()
	}
	if err != nil {
		return c, s, err
	}
	web.Identify(ctx, c, web.Caller{UserID: s.ID, Company: companyID, Client: s.ID})
	good, err := d.proves(ctx, c, sent, s)
	if err == nil && !good {
		err = sent.errClient()
	}
	return c, s, err
}

// find reads a client. It asks the store also about ids that no client has, so that they take the same time.
func (d Deps) find(ctx context.Context, c store.Company, own string) (client.Stored, error) {
	if !id.Valid(c.ID()) || !id.Valid(own) {
		return client.Load(ctx, store.For(d.Store, "unknown"), "unknown")
	}
	return client.Load(ctx, c, own)
}

// proves reports whether the credentials are the client's. An assertion that is accepted counts as used.
func (d Deps) proves(ctx context.Context, c store.Company, sent credentials, s client.Stored) (bool, error) {
	now := d.Now()
	a := sent.asserted
	switch {
	case a == nil:
		var digests []string
		for _, one := range client.LiveSecrets(s.Secrets, now) {
			digests = append(digests, one.Digest)
		}
		return clientsecret.Matches(sent.secret, digests...), nil
	case a.Issuer() == sent.clientID && a.Subject() == sent.clientID:
		if good := a.Verify(s.LiveKeys(now), now, d.Issuers...) == nil; !good || !a.Brief(now) || a.ID() == "" {
			return false, nil
		}
		return s.Redeem(ctx, c, a.ID(), a.Expires().Add(time.Minute))
	case s.Federation != nil && a.Issuer() == s.Federation.Issuer && a.Subject() == s.Federation.Subject:
		keys, err := d.federations.keys(ctx, a.Issuer(), a.KeyID())
		return err == nil && a.Verify(keys, now, s.Federation.Audience) == nil, err
	}
	return false, nil
}

// claimsOf returns the claims of a client's token, or refuses a client that may not act now.
func (d Deps) claimsOf(ctx context.Context, c store.Company, s client.Stored, wanted string) (token.Claims, error) {
	if why := s.Usable(d.Now()); why != "" {
		return token.Claims{}, unauthorized(why + "; ask a founder of the company")
	}
	if !web.Within(ctx, s.Networks) {
		return token.Claims{}, unauthorized("the client may not be used from this network")
	}
	owner, err := d.holder(ctx, c, s.Owner)
	if err != nil {
		return token.Claims{}, err
	}
	if !s.IsWithin(owner.Provider) {
		return token.Claims{}, unauthorized("the client's owner is bound to an integration now, and the client is not; ask a founder of the company")
	}
	claims := token.Claims{
		ID: id.New(), Subject: s.ID, Company: c.ID(), Provider: s.Provider, Client: s.ID, Networks: s.Networks,
		Generation: s.Generation, Depends: map[string]int64{s.Owner: owner.Generation},
	}
	if s.ExpiresAt != nil {
		claims.Expires = *s.ExpiresAt
	}
	var reads []string
	if s.Executive != "" {
		if reads, err = d.asExecutive(ctx, c, s, &claims); err != nil {
			return claims, err
		}
	}
	claims.Scopes = s.ScopesOf(owner.Role, reads)
	return claims, narrow(&claims, wanted)
}

// narrow keeps the wanted scopes, all of which the client must have.
func narrow(claims *token.Claims, wanted string) error {
	if wanted == "" {
		return nil
	}
	scopes := strings.Fields(wanted)
	for _, scope := range scopes {
		if !slices.Contains(claims.Scopes, scope) {
			return web.OAuthError("invalid_scope", fault.New(fault.Malformed, "the client, or the person whose token it is, does not have each scope of the request; ask for fewer"))
		}
	}
	claims.Scopes = slices.Compact(slices.Sorted(slices.Values(scopes)))
	return nil
}

// holder returns the login of a user whom a client depends on: its owner, or its executive's. The login alone decides, because each change
// of the user's rights changes it in the same transaction.
func (d Deps) holder(ctx context.Context, c store.Company, userID string) (user.Login, error) {
	u, _, err := company.GetUser(ctx, c, userID)
	if err == nil {
		var login user.Login
		if login, err = company.LoginOf(ctx, d.Store, c.ID(), u); err == nil && !login.Disabled {
			return login, nil
		}
	}
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return user.Login{}, err
	}
	return user.Login{}, unauthorized("the user who answers for the client or its executive is no longer an active user; ask a founder of the company")
}

// asExecutive makes the claims those of the client's executive, and returns the scopes that it declares to read with.
func (d Deps) asExecutive(ctx context.Context, c store.Company, s client.Stored, claims *token.Claims) (reads []string, err error) {
	e, err := executive.Load(ctx, c, s.Executive)
	if fault.KindOf(err) == fault.NotFound || err == nil && !e.CreatedAt.Equal(s.Since) {
		return nil, unauthorized("the client's executive was deleted; ask a founder of the company")
	}
	if err != nil {
		return nil, err
	}
	if e.Owner != s.Owner {
		owner, err := d.holder(ctx, c, e.Owner)
		if err != nil {
			return nil, err
		}
		claims.Depends[e.Owner] = owner.Generation
	}
	claims.Subject, claims.Executive, claims.Generation = e.ID, e.ID, e.Generation
	claims.Depends[s.ID] = s.Generation
	return e.Reads, nil
}
