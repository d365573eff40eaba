package auth

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// CodeExchange holds the parameters of an access token request (RFC 6749 §4.1.3, RFC 7636 §4.5), as JSON.
type CodeExchange struct {
	GrantType string `json:"grant_type" enum:"authorization_code" doc:"what is exchanged"`
	Code      string `json:"code" maxLength:"256" format:"password" doc:"the code that the sign-in ended with" example:"0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11.5MZ2NXQ4RBL6T3WUK7VYJ2CDPE"`
	Redirect  string `json:"redirect_uri,omitempty" maxLength:"2048" doc:"the redirect_uri that the sign-in began with; absent if it had none" example:"https://dashboard.example.com/signed-in"`
	Verifier  string `json:"code_verifier" minLength:"43" maxLength:"128" format:"password" doc:"the verifier of the code_challenge that the sign-in began with" example:"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"`
}

type exchangeInput struct{ Body CodeExchange }

// exchangeCode gives a token for the code of a sign-in, once. The client proves that it began the sign-in.
func (d Deps) exchangeCode(ctx context.Context, in *exchangeInput) (*loginOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	companyID, secret := sso.Split(in.Body.Code)
	if !id.Valid(companyID) {
		companyID = ""
	}
	if companyID != "" {
		if err := user.Halted(ctx, store.For(d.Store, companyID)); err != nil {
			return nil, err
		}
	}
	var login user.Login
	var found error
	bound := func(code sso.Code) store.Company {
		if login, found = d.byIdentity(ctx, companyID, code); found == nil {
			d.identify(ctx, login, "")
		}
		return store.For(web.Recorded(ctx, d.Store), companyID)
	}
	_, err := sso.Redeem(ctx, store.For(d.Store, companyID), secret, in.Body.Redirect, in.Body.Verifier, d.Now(), bound)
	if err := errors.Join(err, found); err != nil {
		return nil, err
	}
	if login.Disabled {
		return nil, fault.New(fault.Forbidden, "the user is disabled; ask a founder of the company")
	}
	return d.open(ctx, login)
}

// byIdentity returns the login of the user whom a code was made for.
func (d Deps) byIdentity(ctx context.Context, companyID string, code sso.Code) (user.Login, error) {
	login, err := company.LoginOf(ctx, d.Store, companyID, user.User{Identity: code.Identity})
	if fault.KindOf(err) == fault.NotFound {
		return login, fault.New(fault.NotFound, "the user was removed")
	}
	return login, err
}
