package courier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/disabling"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// FailingLimit sets how long every attempt to an endpoint must fail before the endpoint is disabled.
const FailingLimit = 5 * 24 * time.Hour

// judgePause separates two looks at since when an endpoint has been failing. The company's context, which says so, is too large
// to read after every failed attempt.
const judgePause = time.Minute

// judge disables an endpoint that has been failing for FailingLimit, and returns it to the sandbox, if the policy engine permits it.
// The endpoint must be certified again before it receives events.
func (c *Courier) judge(ctx context.Context, t *Task) {
	now := c.Now().UTC()
	if t.Failing == nil || !t.Endpoint.home.judgeable(now) {
		return
	}
	if since := t.Failing(ctx, t.Endpoint); !since.IsZero() && now.Sub(since) >= FailingLimit {
		c.disable(ctx, t.Endpoint, integration.DisabledFailing, now)
	}
}

// disable disables an endpoint if the policy engine permits it, and records the decision. It changes nothing if the
// configuration has changed since the endpoint was prepared, because the failures belong to the old configuration. Of several
// attempts that fail at once, one disables the endpoint, and the others wait for it.
func (c *Courier) disable(ctx context.Context, e *Endpoint, reason string, now time.Time) {
	e.disabling <- struct{}{}
	defer func() { <-e.disabling }()
	if e.stale.Load() {
		return
	}
	failing := disabling.Case{Company: e.Company, Integration: e.Integration, Version: e.version, Reason: reason, Now: now}
	planned, err := failing.Plan(ctx, c.Engine)
	if err == nil && len(planned.Ops) > 0 {
		err = e.Company.Commit(ctx, planned.Ops...)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		c.Logger.WarnContext(ctx, "endpoint not disabled", "company", e.Company.ID(), "provider", e.Provider, "reason", reason, "error", err)
		return
	}
	if planned.Disables {
		e.stale.Store(true)
		c.Forget(e.Company.ID()) // this commit or a conflicting one has changed the endpoint
	}
	if err != nil || len(planned.Ops) == 0 {
		return
	}
	c.Logger.InfoContext(ctx, "disabling of an endpoint decided", "company", e.Company.ID(), "provider", e.Provider, "reason", reason,
		"verdict", planned.Decision.Verdict)
}
