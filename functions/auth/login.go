package auth

import (
	"context"
	"errors"
	"slices"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// maxLogin bounds the body of a login in bytes, with room for escaping every character. It is small because the caller is
// not authenticated yet.
const maxLogin = 16 << 10

// LoginRequest holds the body of a login.
type LoginRequest struct {
	Email    string `json:"email" doc:"the user's e-mail address" maxLength:"320" example:"ada@example.com"`
	Password string `json:"password" doc:"the user's password" maxLength:"1024" format:"password" example:"correct horse battery staple"`
	Company  string `json:"company,omitempty" doc:"the id of one of the companies of the address; absent: the one that the person used last" maxLength:"64" example:"0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11"`
}

type loginInput struct{ Body LoginRequest }

// session holds a successful answer (RFC 6749 §5.1) and the company of the token.
type session struct {
	AccessToken string `json:"access_token" doc:"A JWT (RFC 9068): send it as Authorization: Bearer"`
	TokenType   string `json:"token_type" doc:"how to send the token (RFC 6750)" enum:"Bearer"`
	ExpiresIn   int    `json:"expires_in" doc:"seconds until the token expires" example:"3600" format:"int32"`
	Scope       string `json:"scope" doc:"the token's scopes, separated by spaces"`
	CompanyID   string `json:"company_id" doc:"the company's id, for every path under /companies" format:"uuid"`

	RefreshToken string `json:"refresh_token,omitempty" doc:"a third party's next refresh token, which replaces the one before (RFC 6749 §6); absent for others"`

	IssuedTokenType string `json:"issued_token_type,omitempty" enum:"urn:ietf:params:oauth:token-type:access_token" doc:"the kind of access_token, after a token exchange"`

	EnrolmentRequired bool `json:"enrolment_required,omitempty" doc:"the company requires a second factor and the person has none: the token has no scopes. It enrols one with POST /auth/factors"`

	Companies []Membership `json:"companies" nullable:"false" doc:"the companies that this e-mail address and password, or this sign-in, lead to; none for a client"`
}

// Membership describes a company that a person belongs to.
type Membership struct {
	ID   string    `json:"id" format:"uuid" doc:"the company's id"`
	Name string    `json:"name" doc:"the company's name" example:"Acme"`
	Role user.Role `json:"role" enum:"founder,member,operator,integration" doc:"the person's role there"`
}

type loginOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         session
}

// login counts the try before it checks the password, so that concurrent tries cannot exceed the limit. The password is compared
// with that of every person of the address, by one derivation: no company can keep a person out of another.
func (d Deps) login(ctx context.Context, in *loginInput) (*loginOutput, error) {
	partition := store.Login(in.Body.Email)
	found, err := d.countTry(ctx, partition)
	if err != nil {
		return nil, err
	}
	if tried := tried(found.accounts, in.Body.Company); len(tried) == 1 {
		d.identify(ctx, tried[0], "")
	} else { // no company is told of tries that may be meant for another
		d.refuse(ctx, partition, found.refused)
	}
	right, err := company.Matching(ctx, d.Hasher, in.Body.Password, found.accounts)
	if err != nil {
		return nil, err
	}
	chosen, _, ok := choose(right, in.Body.Company, found.last.CompanyID)
	if !ok {
		return nil, errCredentials()
	}
	right = together(right, chosen)
	if err := d.remember(ctx, right, chosen, in.Body.Password); err != nil {
		return nil, err
	}
	if len(right[0].Factors) > 0 {
		return nil, d.challenge(ctx, right[0], chosen)
	}
	_, others, _ := choose(right, chosen.CompanyID, "")
	return d.open(ctx, proof{At: d.Now(), Methods: []string{byPassword}}, chosen, others...)
}

// together returns the account of a login alone if it has a second factor, or else those without one. So no password leads past a factor.
func together(right []company.Account, chosen user.Login) []company.Account {
	if a, err := company.AccountOf(right, chosen.CompanyID, chosen.UserID); err == nil && len(a.Factors) > 0 {
		return []company.Account{a}
	}
	return slices.DeleteFunc(slices.Clone(right), func(a company.Account) bool { return len(a.Factors) > 0 })
}

// tried returns the logins that a try with an address may be meant for.
func tried(accounts []company.Account, companyID string) (logins []user.Login) {
	for _, a := range accounts {
		for _, m := range a.Members {
			if companyID == "" || m.CompanyID == companyID {
				logins = append(logins, m.Login)
			}
		}
	}
	return logins
}

// choose returns the login of a company, or else the one last used, and the others of the person.
func choose(accounts []company.Account, companyID, last string) (chosen user.Login, others []user.Login, ok bool) {
	for _, a := range accounts {
		others = append(others, a.Open()...)
	}
	if len(others) == 0 {
		return user.Login{}, nil, false
	}
	wanted := companyID
	if wanted == "" && !accounts[0].Stored() {
		wanted = last
	}
	at := slices.IndexFunc(others, func(l user.Login) bool { return l.CompanyID == wanted })
	if at < 0 && companyID != "" {
		return user.Login{}, nil, false
	}
	at = max(0, at)
	return others[at], slices.Delete(slices.Clone(others), at, at+1), true
}

// remember stores where the person logs in from and which company was used last, makes one person of several with the same password, and
// replaces an old hash by one with the current parameters, which needs the password. Another login or a change of the password may do so at the same time.
func (d Deps) remember(ctx context.Context, right []company.Account, chosen user.Login, pass string) error {
	a := right[0]
	for _, other := range right[1:] {
		a.Absorb(other)
	}
	renewed, moved := d.Hasher.NeedsRehash(a.PasswordHash), len(a.Members) > 1 && a.Last != chosen.CompanyID
	told, came := d.come(ctx, &a, chosen)
	if a.Stored() && len(right) == 1 && !renewed && !moved && !came {
		return nil
	}
	a.Last = chosen.CompanyID
	if renewed {
		if err := a.SetPassword(ctx, d.Hasher, pass, nil); err != nil {
			return err
		}
	}
	err := d.Store.Commit(ctx, append(a.Writes(), told...)...)
	if errors.Is(err, store.ErrConflict) && len(told) > 0 { // another request has written the account; the person is told all the same
		err = d.Store.Commit(ctx, told...)
	}
	return ignoreConflict(err)
}

// identify names the user of the request in its audit record.
func (d Deps) identify(ctx context.Context, login user.Login, tokenID string) {
	web.Identify(ctx, store.For(d.Store, login.CompanyID), callerOf(login, tokenID))
}

func callerOf(login user.Login, tokenID string) web.Caller {
	return web.Caller{UserID: login.UserID, Company: login.CompanyID, Role: string(login.Role), TokenID: tokenID}
}

func errCredentials() error {
	return fault.New(fault.Unauthenticated, "the e-mail address or the password is wrong")
}

// open issues a token of a login, for the API with all its scopes.
func (d Deps) open(ctx context.Context, p proof, login user.Login, others ...user.Login) (*loginOutput, error) {
	return d.openFor(ctx, TokenRequest{}, p, login, others...)
}

// openFor issues a token of a login, with the resource and the scopes of a request. others are further logins of the same person. Without
// the second factor that the company requires, the token has no scopes.
func (d Deps) openFor(ctx context.Context, in TokenRequest, p proof, login user.Login, others ...user.Login) (*loginOutput, error) {
	tokenID := id.New()
	c, _, err := company.Get(ctx, store.For(d.Store, login.CompanyID))
	if err != nil {
		return nil, err
	}
	claims := token.Claims{
		ID: tokenID, Subject: login.UserID, Company: login.CompanyID, Provider: login.Provider, Role: string(login.Role),
		Scopes: p.within(login.Scopes()), Narrowed: p.Narrowed || in.Scope != "", Generation: login.Generation, Expires: p.Until, AuthTime: p.At, Methods: p.Methods,
	}
	if claims.Resource, err = d.resource(in.Resource, login.CompanyID); err != nil {
		return nil, err
	}
	if err := narrow(&claims, in.Scope); err != nil {
		return nil, err
	}
	weak := c.SecondFactor && !p.strong()
	if weak {
		claims.Scopes = nil
	}
	out, err := d.signFor(ctx, c, claims)
	if err != nil {
		return nil, err
	}
	out.EnrolmentRequired = weak
	out.Companies = []Membership{{ID: c.ID, Name: c.Name, Role: login.Role}}
	for _, other := range others {
		is, _, err := company.Get(ctx, store.For(d.Store, other.CompanyID))
		if fault.KindOf(err) == fault.NotFound { // it is being erased
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Companies = append(out.Companies, Membership{ID: is.ID, Name: is.Name, Role: other.Role})
	}
	d.identify(ctx, login, tokenID)
	return &loginOutput{CacheControl: "no-store", Body: out}, nil
}
