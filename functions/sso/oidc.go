package sso

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/base/text"
	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/identity/oidclogin"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

type callbackInput struct {
	State  string `query:"state" doc:"As this service sent it to the provider"`
	Code   string `query:"code" doc:"The provider's authorization code"`
	Issuer string `query:"iss" doc:"The provider's issuer identifier (RFC 9207)"`
	Error  string `query:"error" doc:"Why the provider ended the sign-in (RFC 6749 §4.1.2.1)"`
}

const errorPattern text.Pattern = `^[a-z_]{1,64}$`

// finishOIDC takes the provider's answer. It takes the sign-in first, so that each answer counts once, even if the sign-in then fails.
func (d Deps) finishOIDC(ctx context.Context, in *callbackInput) (*redirectOutput, error) {
	d = d.at(ctx)
	if err := d.answers.Take(ctx); err != nil {
		return nil, err
	}
	companyID, secret := sso.Split(in.State)
	s, err := d.resume(ctx, d.company(companyID), sso.OIDC, secret, web.SentCookie(ctx, cookieOIDC))
	if err != nil {
		return d.turnBack(ctx, s, err)
	}
	out, err := d.concludeOIDC(ctx, companyID, s, in)
	if err != nil {
		return d.turnBack(ctx, s, err)
	}
	return out, nil
}

// concludeOIDC verifies the provider's answer and admits the user.
func (d Deps) concludeOIDC(ctx context.Context, companyID string, s signIn, in *callbackInput) (*redirectOutput, error) {
	if in.Issuer != "" && in.Issuer != s.try.Issuer {
		return nil, d.refused(ctx, companyID, errors.New("the answer came from another issuer"))
	}
	if in.Error != "" || in.Code == "" {
		if !errorPattern.Matches(in.Error) {
			in.Error = "it sent no code"
		}
		return nil, d.refused(ctx, companyID, errors.New("it ended the sign-in: "+in.Error))
	}
	clientSecret, err := d.openSecret(ctx, s.company, *s.config.OIDC)
	if err != nil {
		return nil, err
	}
	found, err := d.relying.Finish(ctx, d.client(s.config, clientSecret), oidclogin.Answer{Code: in.Code, Issuer: in.Issuer}, s.try.Nonce, s.try.Verifier)
	if err != nil {
		return nil, d.refused(ctx, companyID, err)
	}
	if !found.Verified {
		return nil, fault.New(fault.Forbidden, "the identity provider has not verified the e-mail address (email_verified)")
	}
	return d.admit(ctx, s, company.Identity{
		Key:   store.IdentityKey(companyID, s.try.Issuer, found.Subject),
		Email: found.Email, Name: found.Name, Role: s.config.Roles.Of(values(s.config, found.Values)),
	})
}

// halted returns fault.Suspended for a suspended company, into which a sign-in writes nothing: no user, no role, no session.
func halted(ctx context.Context, c store.Company) error {
	if !id.Valid(c.ID()) { // it is refused later, as every unknown sign-in
		return nil
	}
	return user.Halted(ctx, c)
}

// signIn holds a sign-in that goes on with the provider's answer.
type signIn struct {
	company store.Company
	config  sso.Config
	try     sso.Try
}

// resume takes the sign-in under a secret. The configuration must still be that of the start. With an error, what resume
// returns tells where the sign-in was to end, if it is known.
func (d Deps) resume(ctx context.Context, c store.Company, protocol sso.Protocol, secret, cookie string) (signIn, error) {
	t, err := sso.Take(ctx, c, secret, cookie, d.Now())
	if err != nil {
		return signIn{}, err
	}
	web.Identify(ctx, c, web.Caller{Company: c.ID()})
	config, err := d.load(ctx, c)
	if err != nil {
		return signIn{company: c, try: t}, err
	}
	same := config.Protocol == t.Protocol && config.Issuer() == t.Issuer
	if same && protocol == sso.OIDC {
		same = config.OIDC.ClientID == t.ClientID
	}
	if !same || t.Protocol != protocol {
		return signIn{company: c, try: t}, fault.New(fault.Unauthenticated, "the company's identity provider changed during the sign-in; start it again")
	}
	return signIn{c, config, t}, nil
}

// values returns the values that decide the role.
func values(config sso.Config, of func(string) []string) []string {
	if config.Roles.Claim == "" {
		return nil
	}
	return of(config.Roles.Claim)
}
