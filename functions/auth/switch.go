package auth

import (
	"context"
	"slices"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// switchCompany gives a person a token of another of their companies for their token of one (RFC 8693 §2.1, audience). The new token expires
// with the old one, so that a stolen token is of no use for longer than without, and a token with fewer scopes by request leads to no others
// (RFC 8693 §5). A sign-in through a company's identity provider
// proves the user to that company alone, so it leads to no other.
func (d Deps) switchCompany(ctx context.Context, in TokenRequest) (*loginOutput, error) {
	if in.SubjectTokenType == "" {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/subject_token_type", Detail: "token exchange needs subject_token_type"}})
	}
	if in.ActorToken != "" || in.ActorTokenType != "" {
		return nil, errExchange("an audience and an actor_token do not go together; get a token of the other company first, and exchange that one with the actor_token of an executive there")
	}
	claims, err := d.exchanged(ctx, in.SubjectToken)
	if err != nil {
		return nil, err
	}
	account, err := d.personOf(ctx, claims)
	if err != nil {
		return nil, err
	}
	open := account.Open()
	at := slices.IndexFunc(open, func(l user.Login) bool { return l.CompanyID == in.Audience && l.CompanyID != claims.Company })
	if at < 0 {
		return nil, errTarget("the audience is not one of the person's other companies; send the id of one that the answer to a login lists")
	}
	chosen, by := open[at], proofOf(claims)
	if len(account.Factors) > 0 && !by.strong() {
		return nil, errTarget("the session began without the person's second factor; log in again with it")
	}
	out, err := d.openFor(ctx, in, by, chosen, slices.Delete(open, at, at+1)...)
	if err != nil {
		return nil, err
	}
	if out.Body.EnrolmentRequired {
		return nil, errTarget("the company requires a second factor, and the session began without one; set one up with POST /auth/factors, or log in to that company")
	}
	if account.Last != chosen.CompanyID {
		account.Last = chosen.CompanyID
		if err := ignoreConflict(d.Store.Commit(ctx, account.Writes()...)); err != nil {
			return nil, err
		}
	}
	out.Body.IssuedTokenType = accessToken
	return out, nil
}

// personOf returns the account of the person whose token has these claims.
func (d Deps) personOf(ctx context.Context, claims token.Claims) (company.Account, error) {
	if claims.Client != "" {
		return company.Account{}, errTarget("only a person has several companies; send the token that a user got by logging in")
	}
	u, _, err := company.GetUser(ctx, store.For(d.Store, claims.Company), claims.Subject)
	if err != nil {
		return company.Account{}, removed(err)
	}
	if u.Identity != "" {
		return company.Account{}, errTarget("a sign-in through a company's identity provider leads to no other company; log in to the other one")
	}
	account, err := d.accountOf(ctx, claims.Company, u)
	if err == nil {
		err = d.goesOn(ctx, claims.Company, sessionOf(claims))
	}
	return account, removed(err)
}

// accountOf reads the account of a user of a company. It returns fault.NotFound if the user has none.
func (d Deps) accountOf(ctx context.Context, companyID string, u user.User) (company.Account, error) {
	all, err := company.Accounts(ctx, d.Store, u.Email)
	if err != nil {
		return company.Account{}, err
	}
	return company.AccountOf(all, companyID, u.ID)
}

// removed says for a token exchange that there is no such user, or session.
func removed(err error) error {
	switch fault.KindOf(err) {
	case fault.NotFound:
		return errExchange("the user of the token was removed")
	case fault.Unauthenticated:
		return errExchange("a token is missing, or is not accepted; get a new one")
	}
	return err
}

// errTarget refuses what a token would be for: the audience of an exchange (RFC 8693 §2.2.2), or the resource (RFC 8707 §2).
func errTarget(why string) error {
	return web.OAuthError("invalid_target", fault.New(fault.Malformed, why))
}
