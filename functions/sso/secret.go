package sso

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/domain/sso"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// sealedSecret holds the client secret as the vault sealed it.
type sealedSecret struct {
	Sealed []byte `json:"sealed"`
	Party  string `json:"party,omitempty"` // the issuer and the client that it was given for; "": stored by a release that kept neither
}

// partyOf names the issuer and the client that a secret was given for.
func partyOf(p sso.OIDCProvider) string { return p.Issuer + " " + p.ClientID }

// loadSecret returns the sealed client secret and its version; the version is 0 if the company has no secret.
func loadSecret(ctx context.Context, c store.Company) (sealedSecret, int64, error) {
	var s sealedSecret
	item, err := c.Get(ctx, sso.SecretKey, &s)
	if errors.Is(err, store.ErrNotFound) {
		return s, 0, nil
	}
	return s, item.Version, store.Fault(err, "")
}

// secretOps returns the writes that store, keep or remove the client secret. A stored secret stays only with the issuer and
// the client that it was given for, so that no other issuer gets to see it.
func (d Deps) secretOps(ctx context.Context, c store.Company, in SignOnRequest, was sso.Config, is *sso.Config) ([]store.Op, error) {
	_, version, err := loadSecret(ctx, c)
	if err != nil {
		return nil, err
	}
	if in.OIDC != nil && in.OIDC.ClientSecret != "" {
		party := partyOf(*is.OIDC)
		sealed, err := d.Vault.Seal(ctx, c.ID(), vault.LabelFor(sso.Label, party), []byte(in.OIDC.ClientSecret))
		if err != nil {
			return nil, err
		}
		is.OIDC.Confidential = true
		return []store.Op{c.Save(sso.SecretKey, sso.SecretEntity, version, sealedSecret{sealed, party}).Quietly()}, nil
	}
	if version == 0 {
		return nil, nil
	}
	if is.OIDC != nil && was.OIDC != nil && is.OIDC.Issuer == was.OIDC.Issuer && is.OIDC.ClientID == was.OIDC.ClientID {
		is.OIDC.Confidential = true
		return []store.Op{c.Unchanged(sso.SecretKey, version)}, nil
	}
	return []store.Op{c.Delete(sso.SecretKey, sso.SecretEntity, version).Quietly()}, nil
}

// openSecret returns the client secret, "" for a public client.
func (d Deps) openSecret(ctx context.Context, c store.Company, p sso.OIDCProvider) (string, error) {
	if !p.Confidential {
		return "", nil
	}
	s, version, err := loadSecret(ctx, c)
	if err != nil {
		return "", err
	}
	if version == 0 || s.Party != "" && s.Party != partyOf(p) {
		return "", fault.New(fault.Conflict, "the company's identity provider changed during the sign-in; start it again")
	}
	text, err := d.Vault.Open(ctx, c.ID(), vault.LabelFor(sso.Label, s.Party), s.Sealed)
	return string(text), err
}
