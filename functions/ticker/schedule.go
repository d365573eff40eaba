package ticker

import (
	"context"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

// sync requests a scheduled sync and sets the timer of the next one. It requests nothing while a run is under way, which it puts
// into the queue again if its message was lost, or while the integration may not sync. A timer of a former schedule only ends.
func (t *Ticker) sync(ctx context.Context, c store.Company, subject string) ([]store.Op, error) {
	provider, schedule, _ := strings.Cut(subject, "@")
	i, version, err := integration.Load(ctx, c, provider)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil || !i.Follows(schedule) {
		return nil, err
	}
	now := t.Now().UTC()
	ops := append(i.NextSync(c, now), c.Unchanged(integration.Key(provider), version))
	if i.Suspended || !i.Allows(integration.SyncPull, now) {
		return ops, nil
	}
	slot, slotVersion, err := syncrun.FreeSlot(ctx, c, provider)
	if fault.KindOf(err) == fault.SyncRunning {
		lost, err := t.lostRun(ctx, c, slot.Run)
		return append(ops, lost...), err
	}
	if err != nil {
		return nil, err
	}
	run := syncrun.Run{
		ID: id.New(), Provider: provider, Mode: syncrun.Live, State: syncrun.Requested, RequestedAt: now,
		Full: now.Sub(slot.FullAt) >= syncrun.FullEvery,
	}
	stored := syncrun.StoredRun{Run: run, Incarnation: i.Incarnation, Watched: i.FindsSyncs(now)}
	return append(ops, syncrun.Begin(c, stored, slot, slotVersion)...), nil
}
