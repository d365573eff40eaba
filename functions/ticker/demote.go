package ticker

import (
	"context"
	"errors"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

// demote takes a source out of production that has failed for five days and whose schedule has been paused since. It does nothing
// if the schedule was resumed, or if a run that a user requested has succeeded.
func (t *Ticker) demote(ctx context.Context, c store.Company, subject string) ([]store.Op, error) {
	provider, pause, _ := strings.Cut(subject, "@")
	i, version, err := integration.Load(ctx, c, provider)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	now := t.Now().UTC()
	if err != nil || !i.IsPaused(pause) || !i.Allows(integration.SyncPull, now) {
		return nil, err
	}
	var slot syncrun.Slot
	item, err := c.Get(ctx, syncrun.SlotKey(provider), &slot)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil || slot.Failing.IsZero() || i.FailsFor(slot.Failing, now) < integration.MaxFailing {
		return nil, err
	}
	return []store.Op{
		c.Unchanged(syncrun.SlotKey(provider), item.Version),
		c.Replace(integration.Key(provider), integration.Entity, version, i.Demoted(now)),
	}, nil
}
