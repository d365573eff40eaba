package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// AccessToken names the credential of an integration that a user has connected at the provider.
const AccessToken = "accessToken"

// Connection describes the access that a user has given at the provider, in place of a pasted token.
type Connection struct {
	ID      string     `json:"id" doc:"tells it from connections of before"`
	By      string     `json:"by" doc:"id of the user who connected it"`
	At      time.Time  `json:"at" doc:"when it was connected"`
	Account string     `json:"account,omitempty" doc:"the provider's id of the account, if it says so; another account is refused" example:"T012AB3C4"`
	LostAt  *time.Time `json:"lostAt,omitempty" doc:"since when the provider refuses it for good; connect it again"`
}

// Connect returns the integration with a connection in place of its credentials.
func (i Integration) Connect(c Connection, until time.Time) Integration {
	i.Connection, i.UpdatedAt = &c, c.At
	i.Credentials = &CredentialNames{Names: []string{AccessToken}, UpdatedAt: c.At}
	if !until.IsZero() {
		i.Credentials.ExpiresAt = &until
	}
	return i
}

// Lost returns the integration with its connection marked as refused by the provider for good. Its credentials have expired.
func (i Integration) Lost(now time.Time) Integration {
	lost, names := *i.Connection, *i.Credentials
	lost.LostAt, names.ExpiresAt, names.WarnedAt = &now, &now, &now
	i.Connection, i.Credentials, i.UpdatedAt = &lost, &names, now
	return i
}

// Grant holds the tokens of a connection. It is sealed for the provider, the incarnation and the origin.
type Grant struct {
	ID          string    `json:"id"` // of the connection
	ClientID    string    `json:"clientId"`
	Access      string    `json:"access"`
	AccessUntil time.Time `json:"accessUntil,omitzero"` // zero: it is not said to expire
	Refresh     string    `json:"refresh,omitempty"`
	RefreshedAt time.Time `json:"refreshedAt"`
	BusyUntil   time.Time `json:"busyUntil,omitzero"` // while another process refreshes
	Base        string    `json:"base,omitempty"`     // stands for the origin in requests; "": requests go to the origin

	Installation int64   `json:"installation,omitempty"` // of a GitHub App
	Repositories []int64 `json:"repositories,omitempty"` // of the installation that the user may read
}

// SealGrant seals a grant for the origin of the secrets.
func (s *Secrets) SealGrant(ctx context.Context, c store.Company, v Vault, i Integration, g Grant) (err error) {
	plain, err := json.Marshal(g)
	if err != nil {
		return err
	}
	s.Grant, err = v.Seal(ctx, c.ID(), grantLabel(i, s.Origin), plain)
	return err
}

// OpenGrant opens the grant of the secrets.
func (s Secrets) OpenGrant(ctx context.Context, c store.Company, v Vault, i Integration) (g Grant, err error) {
	plain, err := v.Open(ctx, c.ID(), grantLabel(i, s.Origin), s.Grant)
	if err != nil {
		return g, fmt.Errorf("open the connection of %s: %w", i.Provider, err)
	}
	if json.Unmarshal(plain, &g) != nil {
		return g, fmt.Errorf("decode the connection of %s: invalid JSON", i.Provider) // the cause might quote the tokens
	}
	return g, nil
}

func grantLabel(i Integration, origin string) string {
	return vault.LabelFor(i.Provider+"/connection/"+i.Incarnation, origin)
}

// RevocationEntity names the entity of a token that waits to be revoked.
const RevocationEntity = "revocation"

// revocationKept limits how long it waits.
const revocationKept = 7 * 24 * time.Hour

// Revocation holds a token that the service needs no more.
type Revocation struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // of provider
	ClientID string    `json:"clientId"`
	Sealed   []byte    `json:"sealed"`
	Hint     string    `json:"hint"` // access_token or refresh_token
	Tries    int       `json:"tries,omitempty"`
	Until    time.Time `json:"until"`
}

// RevocationKey returns the sort key of a token that waits to be revoked.
func RevocationKey(id string) string { return "REVOCATION#" + id }

func revocationLabel(id string) string { return "revocation/" + id }

// SealRevocation returns the token of a grant as a token that waits to be revoked. A refresh token ends its access tokens too.
func SealRevocation(ctx context.Context, c store.Company, v Vault, kind string, g Grant, now time.Time) (Revocation, error) {
	r := Revocation{ID: g.ID, Kind: kind, ClientID: g.ClientID, Hint: "refresh_token", Until: now.Add(revocationKept).UTC()}
	token := g.Refresh
	if token == "" {
		r.Hint, token = "access_token", g.Access
	}
	var err error
	r.Sealed, err = v.Seal(ctx, c.ID(), revocationLabel(r.ID), []byte(token))
	return r, err
}

// LoadRevocation reads and opens a token that waits to be revoked. Its version is 0 if no such token is stored.
func LoadRevocation(ctx context.Context, c store.Company, v Vault, id string) (r Revocation, token string, version int64, err error) {
	item, err := c.Get(ctx, RevocationKey(id), &r)
	if errors.Is(err, store.ErrNotFound) {
		return r, "", 0, nil
	}
	if err != nil {
		return r, "", 0, err
	}
	plain, err := v.Open(ctx, c.ID(), revocationLabel(id), r.Sealed)
	return r, string(plain), item.Version, err
}
