package syncer

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

// ending returns the writes that belong to the end of a run. A live run that failed counts: it may pause the schedule or
// take the source out of production.
func (s *slice) ending(ctx context.Context, state syncrun.State) ([]store.Op, error) {
	if _, waited := s.stored.Waits(); waited {
		// The next scheduled run is not another full run that waits too: the source would stand still.
		return s.freeSlot(ctx, func(slot *syncrun.Slot) { slot.FullAt = s.Now().UTC() })
	}
	if state != syncrun.Failed || s.record.Mode != syncrun.Live {
		return s.freeSlot(ctx, nil)
	}
	i, version, err := integration.Load(ctx, s.company, s.record.Provider)
	if fault.KindOf(err) == fault.NotFound {
		return s.freeSlot(ctx, nil)
	}
	if err != nil {
		return nil, err
	}
	now := s.Now().UTC()
	var slot syncrun.Slot
	ops, err := s.freeSlot(ctx, func(kept *syncrun.Slot) {
		var since time.Time
		if i.Schedule != nil {
			since = i.Schedule.Since
		}
		*kept = kept.Fail(since, now)
		slot = *kept
	})
	if err != nil || len(ops) == 0 {
		return ops, err
	}
	changed, ok := demoted(i, slot, now)
	if !ok {
		return ops, nil
	}
	if changed.Allows(integration.SyncPull, now) { // only paused
		ops = append(ops, changed.Demotion(s.company, slot.Failing))
	}
	return append(ops, s.company.Replace(integration.Key(i.Provider), integration.Entity, version, changed)), nil
}

// demoted returns what the failures in slot make of an integration; ok is false if they change nothing. After five failures
// in a row the schedule pauses. After five days the source may no longer sync.
func demoted(i integration.Integration, slot syncrun.Slot, now time.Time) (changed integration.Integration, ok bool) {
	switch {
	case !i.Allows(integration.SyncPull, now):
		return i, false
	case i.FailsFor(slot.Failing, now) >= integration.MaxFailing:
		return i.Demoted(now), true
	case i.Schedule != nil && i.Schedule.PausedAt == nil && slot.Failures >= integration.MaxFailures:
		return i.Paused(now), true
	}
	return i, false
}
