package auth

import (
	"context"
	"slices"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
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
	Company  string `json:"company,omitempty" doc:"the id of one of the companies of the address; absent: of those with this password, the one last used" maxLength:"64" example:"0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11"`
}

type loginInput struct{ Body LoginRequest }

// session holds a successful answer (RFC 6749 §5.1) and the company of the token.
type session struct {
	AccessToken string `json:"access_token" doc:"A JWT (RFC 9068): send it as Authorization: Bearer"`
	TokenType   string `json:"token_type" doc:"how to send the token (RFC 6750)" enum:"Bearer"`
	ExpiresIn   int    `json:"expires_in" doc:"seconds until the token expires" example:"3600" format:"int32"`
	Scope       string `json:"scope" doc:"the token's scopes, separated by spaces"`
	CompanyID   string `json:"company_id" doc:"the company's id, for every path under /companies" format:"uuid"`

	IssuedTokenType string `json:"issued_token_type,omitempty" enum:"urn:ietf:params:oauth:token-type:access_token" doc:"the kind of access_token, after a token exchange"`

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
// with that of every company of the address, by one derivation: no company can keep a person out of another.
func (d Deps) login(ctx context.Context, in *loginInput) (*loginOutput, error) {
	partition := store.Login(in.Body.Email)
	found, err := d.countTry(ctx, partition)
	if err != nil {
		return nil, err
	}
	found.logins = slices.DeleteFunc(found.logins, func(l login) bool { return in.Body.Company != "" && l.CompanyID != in.Body.Company })
	if len(found.logins) == 1 {
		d.identify(ctx, found.logins[0].Login, "")
	} else { // no company is told of tries that may be meant for another
		d.refuse(ctx, partition, found.refused)
	}
	right, err := d.right(ctx, in.Body.Password, found.logins)
	if err != nil {
		return nil, err
	}
	if len(right) == 0 {
		return nil, errCredentials()
	}
	chosen := right[max(0, slices.IndexFunc(right, func(l login) bool { return l.CompanyID == found.last.CompanyID }))]
	if err := d.rehash(ctx, partition, chosen, in.Body.Password); err != nil {
		return nil, err
	}
	if err := d.remember(ctx, partition, found, chosen, len(right)); err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(right, func(l login) bool { return l.CompanyID == chosen.CompanyID })
	return d.open(ctx, chosen.Login, others...)
}

// right returns the logins with a password that are not disabled.
func (d Deps) right(ctx context.Context, pass string, logins []login) ([]login, error) {
	hashes := make([]string, len(logins))
	for i, l := range logins {
		hashes[i] = l.PasswordHash
	}
	matches, err := d.Hasher.Matches(ctx, pass, hashes)
	if err != nil {
		return nil, err
	}
	var right []login
	for i, l := range logins {
		if matches[i] && !l.Disabled {
			right = append(right, l)
		}
	}
	return right, nil
}

// remember stores which of several companies with the same password was used last.
func (d Deps) remember(ctx context.Context, p store.Partition, found known, chosen login, several int) error {
	if found.last.CompanyID == chosen.CompanyID || several < 2 && found.lastAt == 0 {
		return nil
	}
	return ignoreConflict(d.Store.Commit(ctx, p.Entry(lastKey, triesEntity, found.lastAt, lastUsed{chosen.CompanyID})))
}

// identify names the user of the request in its audit record.
func (d Deps) identify(ctx context.Context, login user.Login, tokenID string) {
	web.Identify(ctx, store.For(d.Store, login.CompanyID), web.Caller{
		UserID: login.UserID, Company: login.CompanyID, Role: string(login.Role), TokenID: tokenID,
	})
}

func errCredentials() error {
	return fault.New(fault.Unauthenticated, "the e-mail address or the password is wrong")
}

// open issues a token of a login. others are further logins of the same person.
func (d Deps) open(ctx context.Context, login user.Login, others ...login) (*loginOutput, error) {
	tokenID := id.New()
	out, c, err := d.sign(ctx, token.Claims{
		ID: tokenID, Subject: login.UserID, Company: login.CompanyID, Provider: login.Provider, Role: string(login.Role),
		Scopes: login.Scopes(), Generation: login.Generation,
	})
	if err != nil {
		return nil, err
	}
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

// rehash replaces an old hash by one with the current parameters. It needs the password, which only a login provides.
func (d Deps) rehash(ctx context.Context, p store.Partition, of login, pass string) error {
	if !password.NeedsRehash(of.PasswordHash) {
		return nil
	}
	hash, err := d.Hasher.Hash(ctx, pass)
	if err != nil {
		return err
	}
	of.PasswordHash = hash
	err = d.Store.Commit(ctx, p.Entry(of.key, user.LoginEntity, of.version, of.Login))
	return ignoreConflict(err) // another login replaced the hash, or the password was changed
}
