package courier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// FailingLimit sets how long every attempt to an endpoint must fail before the endpoint is disabled.
const FailingLimit = 5 * 24 * time.Hour

// DisableFailing disables an endpoint that has been failing for FailingLimit, and returns it to the sandbox. The endpoint
// must be certified again before it receives events. since is when the failures began, or zero if it is not failing.
func (c *Courier) DisableFailing(ctx context.Context, e *Endpoint, since time.Time) {
	now := c.Now().UTC()
	if since.IsZero() || now.Sub(since) < FailingLimit {
		return
	}
	c.disable(ctx, e, e.Sandboxed(integration.SandboxedByFailing, now), integration.DisabledFailing, now)
}

// disable disables an endpoint. It changes nothing if the configuration has changed since the endpoint was prepared,
// because the failures belong to the old configuration.
func (c *Courier) disable(ctx context.Context, e *Endpoint, i integration.Integration, reason string, now time.Time) {
	i.Enabled, i.Disabled, i.UpdatedAt = false, &integration.Disabled{Reason: reason, At: now}, now
	err := e.Company.Commit(ctx, e.Company.Replace(integration.Key(i.Provider), integration.Entity, e.version, i))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		c.Logger.WarnContext(ctx, "endpoint not disabled", "company", e.Company.ID(), "provider", i.Provider, "reason", reason, "error", err)
		return
	}
	c.Forget(e.Company.ID()) // this commit or a conflicting one has changed the endpoint
	if err != nil {
		return
	}
	c.Logger.InfoContext(ctx, "endpoint disabled", "company", e.Company.ID(), "provider", i.Provider, "reason", reason)
}
