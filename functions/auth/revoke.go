package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/grant"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
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
	if r, ok := grant.ParseRefresh(in.Body.Token); ok {
		return nil, d.revokeRefresh(ctx, r, in.Body.ClientID)
	}
	claims, err := web.Verified(ctx, in.Body.Token, resourcesOf(in.Body.Token)...)
	known := err == nil
	if err != nil && fault.KindOf(err) != fault.Unauthenticated {
		return nil, err
	}
	if known && claims.Client != "" && !isBasic(in.Authorization) && in.Body.ClientSecret == "" && in.Body.Assertion == "" {
		if done, err := d.revokeGrant(ctx, claims, in.Body.ClientID); done || err != nil {
			return nil, err
		}
	}
	by := web.Caller{UserID: claims.Subject, Company: claims.Company, Role: claims.Role, TokenID: claims.ID}
	if proof := in.Body.ClientProof; claims.Client != "" || isBasic(in.Authorization) || proof != (ClientProof{ClientID: proof.ClientID}) || known && proof.ClientID != "" {
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
		return nil, nil //nolint:nilnil // nothing is left to end, and the answer is empty
	}
	web.Identify(ctx, store.For(d.Store, claims.Company), by)
	c := store.For(web.Recorded(ctx, d.Store), claims.Company)
	for range 3 { // the principal may end other tokens meanwhile
		op, err := user.EndToken(ctx, c, by.UserID, claims.ID, claims.Expires, d.Now())
		if err != nil {
			return nil, err
		}
		if err = c.Commit(ctx, op); !errors.Is(err, store.ErrConflict) {
			return nil, store.Fault(err, "")
		}
	}
	return nil, fault.New(fault.Unavailable, "other tokens of the principal are being ended; try again")
}

// revokeRefresh ends the grant of a refresh token. An unknown token needs no more.
func (d Deps) revokeRefresh(ctx context.Context, r grant.Refresh, clientID string) error {
	c := store.For(d.Store, r.CompanyID)
	s, err := grant.Load(ctx, c, r.GrantID, d.Now())
	if fault.KindOf(err) == fault.NotFound || err == nil && !s.Belongs(r) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.giveBack(ctx, c, s, clientID)
}

// revokeGrant ends the grant of an access token, with all its tokens (RFC 7009 §2.1). done is false for the token of another client.
func (d Deps) revokeGrant(ctx context.Context, claims token.Claims, clientID string) (done bool, err error) {
	c := store.For(d.Store, claims.Company)
	s, err := grant.Load(ctx, c, claims.Client, d.Now())
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, d.giveBack(ctx, c, s, clientID)
}

// giveBack ends a grant for the third party that has it. It holds one of its tokens; a client_id that it sends must be its own.
func (d Deps) giveBack(ctx context.Context, c store.Company, s grant.Stored, clientID string) error {
	if clientID != "" && clientID != s.Client.ID {
		return unauthorized("the token is not the client's")
	}
	web.Identify(ctx, c, web.Caller{UserID: s.UserID, Company: c.ID(), Client: s.ID, Executive: s.Executive})
	return d.endGrant(ctx, store.For(web.Recorded(ctx, d.Store), c.ID()), s.ID, "it gave it back")
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
