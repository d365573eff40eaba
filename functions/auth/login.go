package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"orgops/shared/company"
	"orgops/shared/fault"
	"orgops/shared/password"
	"orgops/shared/store"
	"orgops/shared/token"
	"orgops/shared/user"
)

// maxLogin is how many bytes the body of a login may have, every character of it escaped: whoever asks has shown nothing
// yet, so little work is done for them.
const maxLogin = 16 << 10

type loginInput struct {
	Body struct {
		Email    string `json:"email" maxLength:"320" example:"ada@example.com"`
		Password string `json:"password" maxLength:"1024" format:"password" example:"correct horse battery staple"`
	}
}

// session is a successful answer of RFC 6749 §5.1, and the company the token is for.
type session struct {
	AccessToken string `json:"access_token" doc:"A JWT (RFC 9068): send it as Authorization: Bearer"`
	TokenType   string `json:"token_type" enum:"Bearer"`
	ExpiresIn   int    `json:"expires_in" doc:"Seconds" example:"3600"`
	Scope       string `json:"scope" doc:"Space separated"`
	CompanyID   string `json:"company_id"`
}

type loginOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         session
}

// login counts the try before it looks at the password, so that tries at once cannot go round the limit.
func (d Deps) login(ctx context.Context, in *loginInput) (*loginOutput, error) {
	partition := store.Login(in.Body.Email)
	found, err := d.countTry(ctx, partition)
	if err != nil {
		return nil, err
	}
	if found == nil {
		if err := d.Hasher.Dummy(ctx, in.Body.Password); err != nil {
			return nil, err
		}
		return nil, errCredentials()
	}
	var login user.Login
	if err := json.Unmarshal(found.Body, &login); err != nil {
		return nil, fmt.Errorf("decode a login: %w", err)
	}
	ok, err := d.Hasher.Verify(ctx, in.Body.Password, login.PasswordHash)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errCredentials()
	}
	if err := d.rehash(ctx, partition, *found, login, in.Body.Password); err != nil {
		return nil, err
	}
	return d.open(ctx, login)
}

func errCredentials() error {
	return fault.New(fault.Unauthenticated, "no login has this e-mail address and password")
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
	scopes := login.Role.Scopes()
	text, err := signer.Issue(token.Claims{Subject: login.UserID, Company: c.ID, Plan: c.Plan, Scopes: scopes})
	if err != nil {
		return nil, err
	}
	return &loginOutput{CacheControl: "no-store", Body: session{
		AccessToken: text, TokenType: "Bearer", ExpiresIn: int(token.Lifetime.Seconds()),
		Scope: strings.Join(scopes, " "), CompanyID: c.ID,
	}}, nil
}

// rehash brings an old hash up to today's parameters: only now is the password at hand.
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
	return ignoreConflict(err) // another login did it, or the password was changed
}
