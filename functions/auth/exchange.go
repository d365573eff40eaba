package auth

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/grant"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// exchangeCode gives a token for the code of a sign-in, once. The client proves that it began the sign-in.
func (d Deps) exchangeCode(ctx context.Context, in TokenRequest) (*loginOutput, error) {
	if in.Verifier == "" {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/code_verifier", Detail: "authorization_code needs it"}})
	}
	if companyID, secret, ok := grant.SplitCode(in.Code); ok {
		return d.exchangeGrant(ctx, companyID, secret, in)
	}
	companyID, secret := sso.Split(in.Code)
	if !id.Valid(companyID) {
		companyID = ""
	}
	var login user.Login
	var found error
	bound := func(code sso.Code) (store.Company, error) {
		if err := user.Halted(ctx, store.For(d.Store, companyID)); err != nil {
			return store.Company{}, err
		}
		if login, found = d.byIdentity(ctx, companyID, code); found == nil {
			d.identify(ctx, login, "")
		}
		return store.For(web.Recorded(ctx, d.Store), companyID), nil
	}
	_, err := sso.Redeem(ctx, store.For(d.Store, companyID), secret, in.Redirect, in.Verifier, d.Now(), bound)
	if err := errors.Join(err, found); err != nil {
		return nil, badGrant(err)
	}
	if login.Disabled {
		return nil, errGrant("the user is disabled; ask a founder of the company")
	}
	return d.openFor(ctx, in, proof{At: d.Now(), Provider: true}, login)
}

// badGrant is the answer to a code that is not accepted, or whose user is gone (RFC 6749 §5.2).
func badGrant(err error) error {
	var f *fault.Error
	if kind := fault.KindOf(err); errors.As(err, &f) && (kind == fault.Unauthenticated || kind == fault.NotFound) {
		return errGrant(f.Detail)
	}
	return err
}

func errGrant(why string) error {
	return web.OAuthError("invalid_grant", fault.New(fault.Malformed, why))
}

// byIdentity returns the login of the user whom a code was made for.
func (d Deps) byIdentity(ctx context.Context, companyID string, code sso.Code) (user.Login, error) {
	login, err := company.LoginOf(ctx, d.Store, companyID, user.User{Identity: code.Identity})
	if fault.KindOf(err) == fault.NotFound {
		return login, fault.New(fault.NotFound, "the user was removed")
	}
	return login, err
}
