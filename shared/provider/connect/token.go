package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/wait"
	"orgops/shared/domain/integration"
	"orgops/shared/identity/authcode"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/webhook/outbound"
)

const (
	// ahead is how long before its end an access token is replaced. A process that finds the lease taken uses the former token meanwhile.
	ahead = 5 * time.Minute
	// lease keeps other processes from refreshing. It is longer than a request may take, and the pause after a refresh that failed.
	lease = 30 * time.Second
	// storeAgain is the wait before the result of a refresh is stored again; each one after it doubles it, up to the longest.
	storeAgain   = 50 * time.Millisecond
	storeLongest = 5 * time.Second
)

// Values returns the credentials with which an integration fetches, of its secrets at a version: what was pasted, or an access token
// that is valid. base is the address that stands for the configured origin if a connection leads through another one. Values refreshes the token before its end, under a lease, and stores the new ones before it returns.
//
// It returns fault.Conflict if only a person can help, because the provider has ended the access. It returns a
// *connector.ThrottledError while another process refreshes a token that has ended.
func (a Access) Values(
	ctx context.Context, c store.Company, conn connector.Connector, i integration.Integration, s integration.Secrets, version int64,
) (values map[string]string, base string, err error) {
	origin := connector.Origin(conn, i.Config)
	if i.Connection == nil || len(s.Grant) == 0 || s.Origin != origin {
		return s.ValuesFor(origin), "", nil
	}
	if i.Connection.LostAt != nil {
		return nil, "", errLost(i)
	}
	h := held{access: a, company: c, integration: i, secrets: s, version: version}
	if h.grant, err = s.OpenGrant(ctx, c, a.Vault, i); err != nil {
		return nil, "", err
	}
	token, err := h.token(ctx)
	if err != nil {
		return nil, "", err
	}
	return map[string]string{integration.AccessToken: token}, h.grant.Base, nil
}

// held is the grant of a connection as it was read.
type held struct {
	access      Access
	company     store.Company
	integration integration.Integration
	secrets     integration.Secrets
	version     int64
	grant       integration.Grant
}

// token returns an access token that is valid.
func (h held) token(ctx context.Context) (string, error) {
	now := h.access.Now().UTC()
	if h.lasts(now) {
		return h.grant.Access, nil
	}
	if now.Before(h.grant.BusyUntil) {
		return h.meanwhile(now, errBusy(h.grant.BusyUntil))
	}
	return h.refresh(ctx)
}

// lasts reports whether the access token need not be replaced yet. Of a short life a quarter is left.
func (h held) lasts(now time.Time) bool {
	g := h.grant
	if g.AccessUntil.IsZero() {
		return true
	}
	if g.Refresh == "" && g.Installation == 0 { // nothing replaces it
		return now.Before(g.AccessUntil)
	}
	return now.Before(g.AccessUntil.Add(-min(ahead, g.AccessUntil.Sub(g.RefreshedAt)/4)))
}

// meanwhile returns the former access token while it is valid, or the error.
func (h held) meanwhile(now time.Time, err error) (string, error) {
	if now.Before(h.grant.AccessUntil) {
		return h.grant.Access, nil
	}
	return "", err
}

// errBusy tells that another process gets new access until a time.
func errBusy(until time.Time) error {
	e := fault.Wrap(fault.Unavailable, "another request gets new access from the provider; try again", &connector.ThrottledError{Until: until})
	e.RetryAfter = lease
	return e
}

// refresh gets a new access token. The lease is stored first, so only one process does, and what it gets is stored before it is used: a
// refresh token may count once. A lease that has ended without a result leaves open whether the provider has counted the token; the
// next process tries it again.
func (h held) refresh(ctx context.Context) (string, error) {
	now := h.access.Now().UTC()
	h.grant.BusyUntil = now.Add(lease)
	err := h.save(ctx)
	if errors.Is(err, store.ErrConflict) { // another process took it, or has refreshed
		return h.overtaken(ctx, now)
	}
	if err != nil {
		return "", store.Fault(err, "")
	}
	ctx = context.WithoutCancel(ctx) // the provider counts a refresh token once: what it gives must not get lost
	got, err := h.ask(ctx)
	switch {
	case err == nil:
		return h.keep(ctx, got)
	case errors.Is(err, authcode.ErrGrant):
		return h.lose(ctx)
	}
	if fault.KindOf(err) == fault.Conflict { // the operator has removed the application
		return h.meanwhile(now, err)
	}
	h.access.Logger.WarnContext(ctx, "access not refreshed", "company", h.company.ID(), "provider", h.integration.Provider, "error", err)
	said := "the provider of %s gives no new access now: %s"
	switch {
	case errors.Is(err, ErrChanged):
		said = "the access of %s cannot be renewed: %s; connect it again, or ask the operator to restore the application"
	case errors.Is(err, authcode.ErrClient):
		said = "the provider of %s refuses the operator's application: %s; ask the operator to correct it"
	}
	return h.meanwhile(now, fault.Wrap(fault.Unavailable, fmt.Sprintf(said, h.integration.Provider, outbound.Explain(err)), err))
}

// ask gets new tokens from the provider.
func (h held) ask(ctx context.Context) (got integration.Grant, err error) {
	r, err := h.access.registered(ctx, h.integration.Kind)
	if err != nil {
		return got, err
	}
	if r.app.ClientID != h.grant.ClientID { // no other application can use the grant
		return got, fmt.Errorf("%w: %w", authcode.ErrClient, ErrChanged)
	}
	now := h.access.Now().UTC()
	if r.App {
		return h.access.mint(ctx, r, h.grant)
	}
	if h.grant.Refresh == "" {
		return got, authcode.ErrGrant
	}
	t, err := r.Refresh(ctx, h.access.Client.HTTP(), r.client(""), h.grant.Refresh)
	got = grantOf(t, now)
	got.ID, got.ClientID, got.Base = h.grant.ID, h.grant.ClientID, h.grant.Base
	return got, err
}

// save writes the grant at its version.
func (h *held) save(ctx context.Context, more ...store.Op) error {
	if err := h.secrets.SealGrant(ctx, h.company, h.access.Vault, h.integration, h.grant); err != nil {
		return err
	}
	op, err := integration.SaveSecrets(ctx, h.company, h.access.Vault, h.integration, h.version, h.secrets)
	if err != nil {
		return err
	}
	if err := h.company.Commit(ctx, append(more, op)...); err != nil {
		return err
	}
	h.version++
	return nil
}

// reload reads the grant again. ok is false if the connection has ended or is another one.
func (h *held) reload(ctx context.Context) (ok bool, err error) {
	s, version, err := integration.LoadSecrets(ctx, h.company, h.access.Vault, h.integration.Provider)
	if err != nil || len(s.Grant) == 0 || s.Origin != h.secrets.Origin {
		return false, err
	}
	g, err := s.OpenGrant(ctx, h.company, h.access.Vault, h.integration)
	if errors.Is(err, vault.ErrSealed) { // the grant of another incarnation does not open
		return false, nil
	}
	if err != nil || g.ID != h.grant.ID {
		return false, err
	}
	h.secrets, h.version, h.grant = s, version, g
	return true, nil
}

// overtaken returns the token that another process has got, or lets the caller wait for it.
func (h held) overtaken(ctx context.Context, now time.Time) (string, error) {
	ok, err := h.reload(ctx)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fault.New(fault.Unavailable, "the credentials were changed at the same time; try again")
	}
	if h.lasts(now) {
		return h.grant.Access, nil
	}
	return h.meanwhile(now, errBusy(now.Add(lease)))
}

// keep stores new tokens. Neither other writers, such as a rotation of the signing secret, nor an error of the store or the vault that
// passes within the lease keeps it from that. If the connection has ended meanwhile, the new tokens are revoked.
func (h held) keep(ctx context.Context, got integration.Grant) (string, error) {
	waiting, stop := context.WithTimeout(ctx, h.grant.BusyUntil.Sub(h.access.Now()))
	defer stop()
	var err error
	for pause := storeAgain; ; pause = min(2*pause, storeLongest) {
		h.grant = got
		if err = h.save(ctx); err == nil {
			return got.Access, nil
		}
		if !wait.For(waiting, pause) {
			break
		}
		ok, unread := h.reload(ctx)
		switch {
		case unread != nil: // the next write conflicts if the version has changed
			continue
		case !ok:
			return "", h.discard(ctx, got)
		case h.grant.Access == got.Access: // the write without a known outcome was applied
			return got.Access, nil
		}
	}
	if errors.Is(err, store.ErrConflict) {
		return "", fault.New(fault.Unavailable, "the credentials kept being changed at the same time; try again")
	}
	return "", store.Fault(err, "")
}

// discard lets the tokens be revoked of a connection that has ended during the refresh.
func (h held) discard(ctx context.Context, got integration.Grant) error {
	if ops := h.access.revocation(ctx, h.company, h.integration, got); len(ops) > 0 {
		if err := h.company.Commit(ctx, ops...); err != nil {
			return store.Fault(err, "")
		}
	}
	return fault.Wrap(fault.Conflict, "the integration was disconnected during the request", errEnded)
}

// lose marks the connection as refused for good, unless another process has got tokens since.
func (h held) lose(ctx context.Context) (string, error) {
	now := h.access.Now().UTC()
	i, version, err := integration.Load(ctx, h.company, h.integration.Provider)
	if err != nil {
		return "", err
	}
	if i.Connection == nil || i.Connection.ID != h.grant.ID {
		return "", errLost(h.integration)
	}
	h.grant.BusyUntil = time.Time{}
	err = h.save(ctx, h.company.Replace(integration.Key(i.Provider), integration.Entity, version, i.Lost(now)))
	if errors.Is(err, store.ErrConflict) {
		return h.overtaken(ctx, now)
	}
	if err != nil {
		return "", store.Fault(err, "")
	}
	h.access.Logger.WarnContext(ctx, "access ended by the provider", "company", h.company.ID(), "provider", i.Provider)
	return "", errLost(i)
}
