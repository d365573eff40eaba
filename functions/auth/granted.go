package auth

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/client"
	"orgops/shared/domain/company"
	"orgops/shared/domain/grant"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// exchangeGrant gives a third party the first tokens of a grant for the code of a consent, once. A code that comes again ends the tokens
// that it led to (RFC 6749 §4.1.2).
func (d Deps) exchangeGrant(ctx context.Context, companyID, secret string, in TokenRequest) (*loginOutput, error) {
	c := store.For(d.Store, companyID)
	now := d.Now().UTC()
	code, err := grant.FindCode(ctx, c, secret, in.ClientID, in.Redirect, in.Verifier, now)
	if errors.Is(err, grant.ErrReplayed) {
		web.Identify(ctx, c, web.Caller{UserID: code.Grant.UserID, Company: c.ID(), Client: code.Grant.ID, Executive: code.Grant.Executive})
		if err := d.endGrant(ctx, c, code.Grant.ID, "its code was used twice"); err != nil {
			return nil, err
		}
		err = grant.ErrCode()
	}
	if err != nil {
		return nil, asGrant(err)
	}
	if err := user.Halted(ctx, c); err != nil { // after the proof, because a stranger is told nothing of the company
		return nil, err
	}
	s := grant.Stored{Grant: code.Grant.Used(now)}
	claims, err := d.claimsOfGrant(ctx, c, s.Grant, in)
	if err != nil {
		return nil, err
	}
	refresh, g := s.NewRefresh(companyID)
	s.Grant = g
	out, err := d.signGrant(ctx, c, s.Grant, claims)
	if err != nil {
		return nil, err
	}
	identifyGrant(ctx, c, claims)
	c = store.For(web.Recorded(ctx, d.Store), companyID)
	plan := func() ([]store.Op, error) {
		all, err := grant.List(ctx, c, now)
		if err != nil {
			return nil, err
		}
		ops, err := oldest(ctx, c, all, s.UserID, now)
		if err == nil && ops == nil && len(all) >= grant.MaxPerCompany {
			err = errGrant("the company has given access to as many third parties as it can; end one first")
		}
		return append(ops, code.Use(c, now), s.Save(c), tellGrant(c, s.Grant, timeline.AccessGiven, "got access", now)), err
	}
	for range 3 { // the grant that makes room may be used meanwhile
		err = c.InTurn(ctx, "grants", plan)
		if code.Lost(err) {
			err = grant.ErrCode()
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if err != nil {
		return nil, asGrant(store.Fault(err, ""))
	}
	out.RefreshToken = refresh
	return &loginOutput{CacheControl: "no-store", Body: out}, nil
}

// oldest returns the writes that end the grant of a user that was used longest ago, if the user has as many as it can.
func oldest(ctx context.Context, c store.Company, all []grant.Stored, userID string, now time.Time) ([]store.Op, error) {
	of := slices.DeleteFunc(all, func(s grant.Stored) bool { return s.UserID != userID })
	if len(of) < grant.MaxPerUser {
		return nil, nil
	}
	one := slices.MinFunc(of, func(a, b grant.Stored) int { return a.LastUsedAt.Compare(b.LastUsedAt) })
	ops, err := one.End(ctx, c, now)
	return append(ops, tellGrant(c, one.Grant, timeline.AccessEnded, "lost access: newer grants of the user took its place", now)), err
}

// refresh gives a third party new tokens for a refresh token, which counts once. A former one ends the grant with all its tokens, because
// two parties hold them (RFC 9700 §4.14.2).
func (d Deps) refresh(ctx context.Context, in TokenRequest) (*loginOutput, error) {
	r, ok := grant.ParseRefresh(in.RefreshToken)
	if !ok {
		return nil, errRefresh()
	}
	c, now := store.For(d.Store, r.CompanyID), d.Now().UTC()
	s, err := grant.Load(ctx, c, r.GrantID, now)
	if err != nil {
		return nil, asGrant(err)
	}
	if !s.Belongs(r) || s.Client.ID != in.ClientID {
		return nil, errRefresh()
	}
	web.Identify(ctx, c, web.Caller{UserID: s.UserID, Company: c.ID(), Client: s.ID, Executive: s.Executive})
	if s.Lost(r, now) {
		return nil, errGrant("another request with this refresh token was first; use the tokens that it got")
	}
	if !s.Counts(r) {
		if err := d.endGrant(ctx, c, s.ID, "a refresh token was used twice"); err != nil {
			return nil, err
		}
		return nil, errRefresh()
	}
	claims, err := d.claimsOfGrant(ctx, c, s.Grant, in)
	if err != nil {
		return nil, err
	}
	out, err := d.signGrant(ctx, c, s.Grant, claims)
	if err != nil {
		return nil, err
	}
	out.RefreshToken, s.Grant = s.Used(now).Rotate(r)
	identifyGrant(ctx, c, claims)
	err = store.For(web.Recorded(ctx, d.Store), c.ID()).Commit(ctx, s.Save(c))
	if errors.Is(err, store.ErrConflict) { // it lost a race, which is no second use
		return nil, errGrant("another request with this refresh token was first; use the tokens that it got")
	}
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return &loginOutput{CacheControl: "no-store", Body: out}, nil
}

func errRefresh() error {
	return errGrant("the refresh token is unknown, was used, has expired or belongs to another client; authorize again")
}

// asGrant turns what is wrong with a code, a grant, or the people behind it into invalid_grant (RFC 6749 §5.2).
func asGrant(err error) error {
	switch kind := fault.KindOf(err); kind {
	case fault.Malformed:
		var f *fault.Error
		if errors.As(err, &f) {
			return errGrant(f.Detail)
		}
	case fault.NotFound:
		return errRefresh()
	}
	return err
}

// claimsOfGrant returns the claims of a token of a grant, as far as the person who allowed it, or the executive, has these rights now. The
// request may narrow them.
func (d Deps) claimsOfGrant(ctx context.Context, c store.Company, g grant.Grant, in TokenRequest) (token.Claims, error) {
	as := client.Stored{Client: client.Client{
		Draft: client.Draft{Owner: g.UserID, Scopes: g.Scopes, Provider: g.Provider, Executive: g.Executive, ExpiresAt: &g.ExpiresAt}, ID: g.ID, Since: g.Since,
	}}
	claims, err := d.claimsOf(ctx, c, as, "")
	if err != nil {
		return claims, asGrant(err)
	}
	if claims.Depends[g.UserID] != g.Generation {
		return claims, errGrant("the person has signed out everywhere, has a new password or other rights since; authorize again")
	}
	if g.Executive == "" { // it acts for the person, whose ending ends the token
		claims.Subject, claims.Generation, claims.Depends = g.UserID, claims.Depends[g.UserID], map[string]int64{g.ID: 0}
	}
	if g.Resource != "" { // the company's MCP endpoint, at the address that the service had then
		claims.Resource = token.MCPResource(d.Issuers[0], c.ID())
	}
	if in.Resource != "" {
		asked, err := d.resource(in.Resource, c.ID())
		if err == nil && asked != claims.Resource {
			err = errTarget("the resource is not the one that was authorized")
		}
		if err != nil {
			return claims, err
		}
	}
	return claims, narrow(&claims, in.Scope)
}

// signGrant answers a token of a grant with these claims. It refuses a grant that a session without a second factor gave, if the company
// requires one.
func (d Deps) signGrant(ctx context.Context, c store.Company, g grant.Grant, claims token.Claims) (session, error) {
	is, _, err := company.Get(ctx, c)
	if err != nil {
		return session{}, err
	}
	if is.SecondFactor && !g.Strong {
		return session{}, errGrant("the company requires a second factor, and the person allowed this without one; authorize again")
	}
	return d.signFor(ctx, is, claims)
}

// identifyGrant names the grant and who is behind it in the request's audit record.
func identifyGrant(ctx context.Context, c store.Company, claims token.Claims) {
	web.Identify(ctx, c, web.Caller{
		UserID: claims.Subject, Company: c.ID(), Client: claims.Client, Executive: claims.Executive, TokenID: claims.ID,
	})
}

// endGrant ends a grant that is there, with its tokens.
func (d Deps) endGrant(ctx context.Context, c store.Company, grantID, why string) error {
	now := d.Now().UTC()
	for range 3 { // the thief may get a new token meanwhile
		s, err := grant.Load(ctx, c, grantID, now)
		if fault.KindOf(err) == fault.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		ops, err := s.End(ctx, c, now)
		if err != nil {
			return err
		}
		err = c.Commit(ctx, append(ops, tellGrant(c, s.Grant, timeline.AccessEnded, "lost access: "+why, now))...)
		if !errors.Is(err, store.ErrConflict) {
			return store.Fault(err, "")
		}
	}
	return fault.New(fault.Unavailable, "the grant is being used; try again")
}

// tellGrant returns the write that tells on the timeline what became of a third party's access.
func tellGrant(c store.Company, g grant.Grant, kind timeline.Kind, what string, now time.Time) store.Op {
	return g.Tell(kind, timeline.Reference{Type: user.Entity, ID: g.UserID}, what, now).Create(c)
}
