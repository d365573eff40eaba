package auth

import (
	"context"
	"maps"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// delegate gives an executive a token to act for a user (RFC 8693 §4.1): the user's token is the subject, and the executive's own is the
// actor. The new token does no more than either, names both, and expires with the first of them.
func (d Deps) delegate(ctx context.Context, in TokenRequest) (*loginOutput, error) {
	if in.SubjectTokenType == "" || in.ActorTokenType == "" {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/subject_token_type", Detail: "token exchange needs subject_token_type and actor_token_type"}})
	}
	person, err := d.exchanged(ctx, in.SubjectToken)
	if err != nil {
		return nil, err
	}
	actor, err := d.exchanged(ctx, in.ActorToken)
	if err != nil {
		return nil, err
	}
	for _, given := range []token.Claims{person, actor} {
		if err := d.goesOn(ctx, given.Company, sessionsOf(given)...); err != nil {
			return nil, removed(err)
		}
	}
	switch {
	case person.Company != actor.Company:
		return nil, errExchange("the two tokens are of different companies")
	case person.Client != "":
		return nil, errExchange("the subject_token is not a user's own; send the token that the user got by logging in")
	case len(person.Scopes) == 0:
		return nil, errExchange("the user has no scopes; the company requires a second factor of them first")
	case actor.Executive == "" || actor.Subject != actor.Executive:
		return nil, errExchange("the actor_token is not an executive's own; send the token of a client that is bound to an executive")
	}
	claims := token.Claims{
		ID: id.New(), Subject: person.Subject, Company: person.Company, Role: person.Role, Provider: person.Provider, Generation: person.Generation,
		Client: actor.Client, Executive: actor.Executive, Networks: actor.Networks, Expires: first(person.Expires, actor.Expires),
		Depends: maps.Clone(actor.Depends),
		Scopes: slices.DeleteFunc(slices.Clone(actor.Scopes), func(scope string) bool {
			return scope != user.ScopeExecutivesAct && !slices.Contains(person.Scopes, scope)
		}),
	}
	claims.Depends[actor.Executive] = actor.Generation
	if err := narrow(&claims, in.Scope); err != nil {
		return nil, err
	}
	if claims.Resource, err = d.resource(in.Resource, claims.Company); err != nil {
		return nil, err
	}
	out, err := d.sign(ctx, claims)
	if err != nil {
		return nil, err
	}
	out.IssuedTokenType = accessToken
	d.identifyToken(ctx, claims)
	return &loginOutput{CacheControl: "no-store", Body: out}, nil
}

// exchanged returns the claims of a token that a token exchange is given, whose principal the request's record names.
func (d Deps) exchanged(ctx context.Context, text string) (token.Claims, error) {
	claims, err := web.Verified(ctx, text)
	if fault.KindOf(err) == fault.Unauthenticated {
		return claims, errExchange("a token is missing, or is not accepted; get a new one")
	}
	if err != nil {
		return claims, err
	}
	d.identifyToken(ctx, claims)
	if !web.Within(ctx, claims.Networks) {
		return claims, errExchange("a token may not be used from this network")
	}
	return claims, nil
}

// identifyToken names the principal of a token in the request's record.
func (d Deps) identifyToken(ctx context.Context, claims token.Claims) {
	web.Identify(ctx, store.For(d.Store, claims.Company), web.Caller{
		UserID: claims.Subject, Company: claims.Company, Role: claims.Role, TokenID: claims.ID, Client: claims.Client, Executive: claims.Executive,
	})
}

func errExchange(why string) error {
	return web.OAuthError("invalid_request", fault.New(fault.Malformed, why)) // RFC 8693 §2.2.2
}

func first(one, other time.Time) time.Time {
	if one.Before(other) {
		return one
	}
	return other
}
