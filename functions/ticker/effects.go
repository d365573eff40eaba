package ticker

import (
	"context"
	"errors"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// ops returns the operations of a timer, from the current state of its subject.
func (t *Ticker) ops(ctx context.Context, c store.Company, timer store.Timer) ([]store.Op, error) {
	switch timer.Kind {
	case intake.ReviewTimer:
		goalID, _, _ := strings.Cut(timer.Subject, "@")
		return t.reviewGoal(ctx, c, goalID)
	case integration.ExpiryTimer:
		return t.expire(ctx, c, timer.Subject)
	case delivery.OverdueTimer:
		return t.overdue(ctx, c, timer.Subject)
	}
	return nil, nil // a kind of an older release: there is nothing to do
}

// reviewGoal writes a goal whose alignment has changed with time, and sets a timer for the next such change.
func (t *Ticker) reviewGoal(ctx context.Context, c store.Company, goalID string) ([]store.Op, error) {
	var old goal.Goal
	item, err := c.Get(ctx, goal.Key(goalID), &old)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := t.Now().UTC()
	g, changed := goal.Review(old, now)
	if !changed { // a newer write of the goal has its own timer
		return nil, nil
	}
	ops := []store.Op{c.Replace(goal.Key(goalID), goal.Entity, item.Version, g)}
	return append(ops, intake.Review(c, g, item.Version+1, now)...), nil
}

// expire returns a connector to the sandbox when its certification has expired.
func (t *Ticker) expire(ctx context.Context, c store.Company, subject string) ([]store.Op, error) {
	provider, _, _ := strings.Cut(subject, "@")
	i, version, err := integration.Load(ctx, c, provider)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	now := t.Now().UTC()
	if err != nil || i.State != integration.Certified || i.IsCertified(now) {
		return nil, err
	}
	return []store.Op{c.Replace(integration.Key(provider), integration.Entity, version, i.Sandboxed(integration.SandboxedByExpiry, now))}, nil
}
