package connect

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/domain/user"
	"orgops/shared/identity/application"
	"orgops/shared/identity/authcode"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

// Access gives and keeps access. Applications may be nil: then integrations have what was pasted.
type Access struct {
	Vault        integration.Vault
	Client       *outbound.Client
	Applications application.Applications
	Logger       *slog.Logger
	Now          func() time.Time
}

// TripEntity names the entity of a connection that is being made.
const TripEntity = "connect-try"

// trips returns the kind of round trip that a connection is.
func trips() roundtrip.Kind { return roundtrip.Kind{Entity: TripEntity, Prefix: "CONNECTTRY#"} }

// Trip is a connection that is being made, from the request until the provider's answer.
type Trip struct {
	roundtrip.Bound
	user.Session // that began it

	Provider    string `json:"provider"`
	Incarnation string `json:"incarnation"`
	ClientID    string `json:"clientId"`
	Verifier    string `json:"verifier"`
	Redirect    string `json:"redirect"`
}

// Begin returns the address at the provider that the browser goes to, and the write that lets Take end the way there and back. The
// caller has set the bounds, the user and the redirect of the trip.
func (a Access) Begin(ctx context.Context, c store.Company, conn connector.Connector, i integration.Integration, t Trip) (address string, op store.Op, err error) {
	r, err := a.registered(ctx, i.Kind)
	if err != nil {
		return "", store.Op{}, err
	}
	if err := r.reaches(conn, i); err != nil {
		return "", store.Op{}, err
	}
	secret := roundtrip.Secret()
	state := roundtrip.State(c, secret)
	t.Provider, t.Incarnation, t.ClientID = i.Provider, i.Incarnation, r.app.ClientID
	if r.App {
		address = r.Authorization + "?" + url.Values{"state": {state}}.Encode()
	} else {
		t.Verifier = authcode.NewVerifier()
		address = r.Begin(r.client(t.Redirect), state, t.Verifier)
	}
	return address, roundtrip.Begin(c, trips(), secret, t), nil
}

// Take returns the trip of a state, once. It returns roundtrip.ErrUnknown unless it began in the browser that holds the cookie.
func Take(ctx context.Context, c store.Company, secret, cookie string, now time.Time) (Trip, error) {
	return roundtrip.Take[Trip](ctx, c, trips(), secret, cookie, now)
}

// Answer holds what the provider sent back through the browser.
type Answer struct {
	authcode.Answer

	Installation int64 // of a GitHub App
}

// The reasons why a connection is not made, apart from those of package authcode.
var (
	// ErrChanged reports that the operator's application is not the application that the trip began with.
	ErrChanged = errors.New("the operator's application has changed")
	// ErrAccount reports that the access is to another account than before.
	ErrAccount = errors.New("the access is to another account than before")
	// ErrInstallation reports that the user may not read the installation.
	ErrInstallation = errors.New("the installation is not one of the user's")
)

// Finish gets the tokens of a trip. It returns the writes that store them in place of what the integration had. Their tokens are
// revoked later.
func (a Access) Finish(ctx context.Context, c store.Company, conn connector.Connector, i integration.Stored, t Trip, answer Answer) ([]store.Op, error) {
	r, err := a.registered(ctx, i.Kind)
	if err != nil {
		return nil, err
	}
	if err := r.reaches(conn, i.Integration); err != nil {
		return nil, err
	}
	if r.app.ClientID != t.ClientID {
		return nil, ErrChanged
	}
	got, err := r.Finish(ctx, a.Client.HTTP(), r.client(t.Redirect), answer.Answer, t.Verifier)
	if err != nil {
		return nil, err
	}
	now := a.Now().UTC()
	grant, account := grantOf(got, now), accountOf(got, r.Account)
	if r.App {
		if grant, account, err = a.installed(ctx, r, i.Integration, got.Access, answer.Installation); err != nil {
			return nil, err
		}
	}
	if r.Sites != "" {
		if account, grant.Base, err = a.site(ctx, r, got.Access, connector.Origin(conn, i.Config)); err != nil {
			return nil, err
		}
	}
	grant.ID, grant.ClientID = id.At(now, i.Incarnation, got.Access), r.app.ClientID
	if was := i.Connection; was != nil && was.Account != "" && was.Account != account {
		return nil, ErrAccount
	}
	var until time.Time
	if got.RefreshUntil > 0 && !r.App {
		until = now.Add(got.RefreshUntil)
	}
	connection := integration.Connection{ID: grant.ID, By: t.UserID, At: now, Account: account}
	return a.store(ctx, c, conn, i, i.Connect(connection, until), grant)
}

// store returns the writes of a new connection: the tokens, the integration, the next check and what ends the tokens of before.
func (a Access) store(
	ctx context.Context, c store.Company, conn connector.Connector, was integration.Stored, is integration.Integration, g integration.Grant,
) ([]store.Op, error) {
	secrets, version, err := integration.LoadSecrets(ctx, c, a.Vault, is.Provider)
	if err != nil {
		return nil, err
	}
	ops := a.Ended(ctx, c, was.Integration, secrets)
	secrets.Values, secrets.Origin = nil, connector.Origin(conn, is.Config)
	if err := secrets.SealGrant(ctx, c, a.Vault, is, g); err != nil {
		return nil, err
	}
	op, err := integration.SaveSecrets(ctx, c, a.Vault, is, version, secrets)
	if err != nil {
		return nil, err
	}
	ops = append(ops, op)
	ops = append(ops, is.Reschedule(c, is.UpdatedAt)...) // a paused schedule begins again
	ops = append(ops, is.CredentialsEnding(c, was.Version+1)...)
	if g.Refresh != "" || g.Installation != 0 {
		ops = append(ops, errand(c, Errand{Company: c.ID(), Check: is.Provider, Connection: g.ID}, is.UpdatedAt.Add(checkEvery), is.UpdatedAt))
	}
	return append(ops, c.Replace(integration.Key(is.Provider), integration.Entity, was.Version, is)), nil
}

// grantOf returns the grant of a token response.
func grantOf(t authcode.Token, now time.Time) integration.Grant {
	g := integration.Grant{Access: t.Access, Refresh: t.Refresh, RefreshedAt: now}
	if t.Lifetime > 0 {
		g.AccessUntil = now.Add(t.Lifetime)
	}
	return g
}

// accountOf returns the member of a token response that identifies the account, or "".
func accountOf(t authcode.Token, path string) string {
	if path == "" {
		return ""
	}
	first, rest, nested := strings.Cut(path, ".")
	value := t.Extra(first)
	if nested {
		object, _ := value.(map[string]any)
		value = object[rest]
	}
	account, _ := value.(string)
	return account
}

// errEnded marks an error about a connection that has ended.
var errEnded = errors.New("the connection has ended")

// errLost tells that the provider has ended a connection.
func errLost(i integration.Integration) error {
	return fault.Wrap(fault.Conflict, "the provider of "+i.Provider+" has ended the access; connect it again", errEnded)
}
