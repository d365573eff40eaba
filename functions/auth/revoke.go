package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// RevocationRequest holds the parameters of a request to end a token (RFC 7009 §2.1), as a form or as JSON.
type RevocationRequest struct {
	Token string `json:"token" minLength:"1" maxLength:"4096" format:"password" doc:"the token that ends"`
	Hint  string `json:"token_type_hint,omitempty" maxLength:"100" doc:"access_token or refresh_token; the service tells them apart without it" example:"access_token"`
	ClientProof
}

type revocationInput struct {
	Authorization string `header:"Authorization" hidden:"true"`
	Body          RevocationRequest
}

// revoke ends one token. A token that is not accepted, or was ended, needs no more: that is a success too (RFC 7009 §2.2). The token of a
// client with credentials is ended by that client alone; a user's own by its holder.
func (d Deps) revoke(ctx context.Context, in *revocationInput) (*struct{}, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	claims, err := web.Verified(ctx, in.Body.Token, resourcesOf(in.Body.Token)...)
	known := err == nil
	if err != nil && fault.KindOf(err) != fault.Unauthenticated {
		return nil, err
	}
	by := web.Caller{UserID: claims.Subject, Company: claims.Company, Role: claims.Role, TokenID: claims.ID}
	if claims.Client != "" || isBasic(in.Authorization) || in.Body.ClientProof != (ClientProof{}) {
		c, s, err := d.proven(ctx, in.Authorization, in.Body.ClientProof)
		if err != nil {
			return nil, err
		}
		if known && (c.ID() != claims.Company || s.ID != claims.Client) {
			return nil, unauthorized("the token is not the client's")
		}
		by = web.Caller{UserID: s.ID, Company: c.ID(), Client: s.ID, Executive: claims.Executive, TokenID: claims.ID}
	}
	if !known {
		return nil, nil
	}
	web.Identify(ctx, store.For(d.Store, claims.Company), by)
	c := store.For(web.Recorded(ctx, d.Store), claims.Company)
	op, err := user.EndToken(ctx, c, by.UserID, claims.ID, claims.Expires, d.Now())
	if err != nil {
		return nil, err
	}
	return nil, store.Fault(c.Commit(ctx, op), "")
}

// resourcesOf returns what a token says it is for, before anything of it is verified: a token ends wherever it opens something.
func resourcesOf(text string) []string {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Audience []string `json:"aud"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return nil
	}
	return claims.Audience
}
