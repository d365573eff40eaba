package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
}

type loginInput struct{ Body LoginRequest }

// session holds a successful answer (RFC 6749 §5.1) and the company of the token.
type session struct {
	AccessToken string `json:"access_token" doc:"A JWT (RFC 9068): send it as Authorization: Bearer"`
	TokenType   string `json:"token_type" doc:"how to send the token (RFC 6750)" enum:"Bearer"`
	ExpiresIn   int    `json:"expires_in" doc:"seconds until the token expires" example:"3600" format:"int32"`
	Scope       string `json:"scope" doc:"the token's scopes, separated by spaces"`
	CompanyID   string `json:"company_id" doc:"the company's id, for every path under /companies" format:"uuid"`
}

type loginOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         session
}

// login counts the try before it checks the password, so that concurrent tries cannot exceed the limit.
func (d Deps) login(ctx context.Context, in *loginInput) (*loginOutput, error) {
	partition := store.Login(in.Body.Email)
	found, refused, err := d.countTry(ctx, partition)
	if err != nil {
		return nil, err
	}
	if found == nil {
		d.refuse(ctx, partition, refused)
		if err := d.Hasher.Dummy(ctx, in.Body.Password); err != nil {
			return nil, err
		}
		return nil, errCredentials()
	}
	var login user.Login
	if err := json.Unmarshal(found.Body, &login); err != nil {
		return nil, fmt.Errorf("decode a login: %w", err)
	}
	d.identify(ctx, login, "")
	ok, err := d.verify(ctx, in.Body.Password, login)
	if err != nil {
		return nil, err
	}
	if !ok || login.Disabled {
		return nil, errCredentials()
	}
	if err := d.rehash(ctx, partition, *found, login, in.Body.Password); err != nil {
		return nil, err
	}
	return d.open(ctx, login)
}

// identify names the user of the request in its audit record.
func (d Deps) identify(ctx context.Context, login user.Login, tokenID string) {
	web.Identify(ctx, store.For(d.Store, login.CompanyID), web.Caller{
		UserID: login.UserID, Company: login.CompanyID, Role: string(login.Role), TokenID: tokenID,
	})
}

// verify checks a password. A user without one, who logs in through an identity provider, has no right password.
func (d Deps) verify(ctx context.Context, pass string, login user.Login) (bool, error) {
	if login.PasswordHash == "" {
		return false, d.Hasher.Dummy(ctx, pass)
	}
	return d.Hasher.Verify(ctx, pass, login.PasswordHash)
}

func errCredentials() error {
	return fault.New(fault.Unauthenticated, "the e-mail address or the password is wrong")
}

func (d Deps) open(ctx context.Context, login user.Login) (*loginOutput, error) {
	c, _, err := company.Get(ctx, store.For(d.Store, login.CompanyID))
	if err != nil {
		return nil, err
	}
	signer, err := d.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	scopes := login.Scopes()
	tokenID := id.New()
	text, err := signer.Issue(token.Claims{
		ID: tokenID, Subject: login.UserID, Company: c.ID, Plan: c.Plan, Provider: login.Provider, Role: string(login.Role),
		Scopes: scopes, Generation: login.Generation,
	})
	if err != nil {
		return nil, err
	}
	d.identify(ctx, login, tokenID)
	return &loginOutput{CacheControl: "no-store", Body: session{
		AccessToken: text, TokenType: "Bearer", ExpiresIn: int(token.Lifetime.Seconds()),
		Scope: strings.Join(scopes, " "), CompanyID: c.ID,
	}}, nil
}

// rehash replaces an old hash by one with the current parameters. It needs the password, which only a login provides.
func (d Deps) rehash(ctx context.Context, p store.Partition, item store.Item, login user.Login, pass string) error {
	if !password.NeedsRehash(login.PasswordHash) {
		return nil
	}
	hash, err := d.Hasher.Hash(ctx, pass)
	if err != nil {
		return err
	}
	login.PasswordHash = hash
	err = d.Store.Commit(ctx, p.Entry(user.LoginKey, user.LoginEntity, item.Version, login))
	return ignoreConflict(err) // another login replaced the hash, or the password was changed
}
