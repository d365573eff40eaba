package connect

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/identity/authcode"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/store"
)

// Queue names the queue of errands: that of syncs, whose worker fetches with the tokens too.
const Queue = "syncs"

// checkEvery is how often a connection is refreshed that no sync uses. So the provider keeps it, and a connection that the provider has
// ended is noticed within a day. unused is the age from which it is.
const (
	checkEvery = 24 * time.Hour
	unused     = 20 * time.Hour
	checkAgain = time.Hour // after a check that failed
)

// Errand is a message about a connection. Exactly one of Check and Revoke is set.
type Errand struct {
	Company    string `json:"company"`
	Check      string `json:"check,omitempty"` // the provider whose connection is to be refreshed if it is unused
	Connection string `json:"connection,omitempty"`
	Revoke     string `json:"revoke,omitempty"` // the token that is to be revoked
}

// errand returns the write of a timer that sends an errand.
func errand(c store.Company, e Errand, due, now time.Time) store.Op {
	body, _ := json.Marshal(e) // texts always encode
	return timerqueue.Op(c, Queue, queue.Message{Body: body, Group: c.ID(), Due: due}, now)
}

// Ended returns the writes that let the tokens of an integration's connection be revoked at the provider. They are for the commit that
// removes or replaces the tokens. Neither the provider nor the vault keeps that from happening: without the writes, the tokens last as
// long as the provider says.
func (a Access) Ended(ctx context.Context, c store.Company, i integration.Integration, s integration.Secrets) []store.Op {
	if len(s.Grant) == 0 {
		return nil
	}
	g, err := s.OpenGrant(ctx, c, a.Vault, i)
	if err != nil {
		a.Logger.WarnContext(ctx, "tokens not revoked", "company", c.ID(), "provider", i.Provider, "error", err)
		return nil
	}
	return a.revocation(ctx, c, i, g)
}

// revocation returns the writes that let the tokens of a grant be revoked, if the provider has an address for that.
func (a Access) revocation(ctx context.Context, c store.Company, i integration.Integration, g integration.Grant) []store.Op {
	r, err := a.registered(ctx, i.Kind)
	if err != nil || r.Revocation == "" || r.app.ClientID != g.ClientID {
		return nil // no other application can revoke them
	}
	now := a.Now().UTC()
	g.ID = id.New()
	waiting, err := integration.SealRevocation(ctx, c, a.Vault, i.Kind, g, now)
	if err != nil {
		a.Logger.WarnContext(ctx, "tokens not revoked", "company", c.ID(), "provider", i.Provider, "error", err)
		return nil
	}
	create := c.Create(integration.RevocationKey(waiting.ID), integration.RevocationEntity, waiting).Quietly().Until(waiting.Until)
	return []store.Op{create, errand(c, Errand{Company: c.ID(), Revoke: waiting.ID}, now, now)}
}

// Do runs an errand. It returns an error of the store, the vault or the operator's applications if the errand is to be done again.
func (a Access) Do(ctx context.Context, c store.Company, e Errand) error {
	if e.Revoke != "" {
		return a.revoke(ctx, c, e)
	}
	return a.check(ctx, c, e)
}

// pauses lists the waits after attempts to revoke a token that failed. After one more the token is left to its end.
func pauses() []time.Duration {
	return []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}
}

// revoke revokes a token that waits for it. A provider that refuses is not asked again: it does not know the token.
func (a Access) revoke(ctx context.Context, c store.Company, e Errand) error {
	waiting, token, version, err := integration.LoadRevocation(ctx, c, a.Vault, e.Revoke)
	if err != nil || version == 0 {
		return err
	}
	done := c.Delete(integration.RevocationKey(waiting.ID), integration.RevocationEntity, version).Quietly()
	r, err := a.registered(ctx, waiting.Kind)
	if err == nil && r.app.ClientID == waiting.ClientID {
		err = r.Revoke(ctx, a.Client.HTTP(), r.client(""), token, waiting.Hint)
	}
	waits := pauses()
	final := err == nil || errors.Is(err, authcode.ErrGrant) || errors.Is(err, authcode.ErrClient) || fault.KindOf(err) == fault.Conflict
	if err != nil {
		a.Logger.WarnContext(ctx, "token not revoked", "company", c.ID(), "kind", waiting.Kind, "tries", waiting.Tries+1, "error", err)
	}
	if final || waiting.Tries >= len(waits) {
		return c.Commit(ctx, done)
	}
	now := a.Now().UTC()
	again := errand(c, e, now.Add(waits[waiting.Tries]), now)
	waiting.Tries++
	return c.Commit(ctx, again, c.Replace(integration.RevocationKey(waiting.ID), integration.RevocationEntity, version, waiting).Quietly().Until(waiting.Until))
}

// check refreshes a connection that no sync has used for a day, and asks for the next check. The checks of a connection end with it.
// The next one is whole days or hours after the connection was made, so that copies of an errand ask for the same one.
func (a Access) check(ctx context.Context, c store.Company, e Errand) error {
	i, _, err := integration.Load(ctx, c, e.Check)
	if fault.KindOf(err) == fault.NotFound || err == nil && (i.Connection == nil || i.Connection.ID != e.Connection || i.Connection.LostAt != nil) {
		return nil
	}
	if err != nil {
		return err
	}
	s, version, err := integration.LoadSecrets(ctx, c, a.Vault, i.Provider)
	if err != nil || len(s.Grant) == 0 {
		return err
	}
	h := held{access: a, company: c, integration: i, secrets: s, version: version}
	if h.grant, err = s.OpenGrant(ctx, c, a.Vault, i); err != nil {
		return err
	}
	now, next := a.Now().UTC(), checkEvery
	if now.Sub(h.grant.RefreshedAt) >= unused && !now.Before(h.grant.BusyUntil) && !i.Suspended {
		_, err = h.refresh(ctx)
		switch {
		case errors.Is(err, errEnded):
			return nil
		case err != nil:
			next = checkAgain
		}
	}
	age := now.Sub(i.Connection.At) + time.Second // a message may come a little early
	err = c.Commit(ctx, errand(c, e, i.Connection.At.Add(age.Truncate(next)+next), now))
	if errors.Is(err, store.ErrConflict) { // another copy has asked for it
		return nil
	}
	return err
}
