package ticker

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

// lookAgain is when a run is looked at again that a worker has, in case the worker and its message are lost too.
const lookAgain = time.Hour

// lostRun puts a sync run into the queue again whose queue message was lost.
func (t *Ticker) lostRun(ctx context.Context, c store.Company, runID string) ([]store.Op, error) {
	var run syncrun.StoredRun
	item, err := c.Get(ctx, syncrun.Key(runID), &run)
	if errors.Is(err, store.ErrNotFound) || err == nil && run.State.Ended() {
		return nil, nil
	}
	now := t.Now().UTC()
	switch {
	case err != nil:
		return nil, err
	case run.Work.LeaseUntil.After(now):
		return []store.Op{c.Timer(now.Add(lookAgain), syncrun.OverdueTimer, runID)}, nil
	case !run.Overdue(now): // its message is due later, and has its own timer
		return nil, nil
	}
	run.Work.Ask(now)
	return []store.Op{c.Replace(item.Key, syncrun.Entity, item.Version, run).Until(run.RequestedAt.Add(syncrun.Kept))}, nil
}

// lostRecovery puts a recovery into the queue again whose queue message was lost.
func (t *Ticker) lostRecovery(ctx context.Context, c store.Company, recoveryID string) ([]store.Op, error) {
	var rec recovery.Stored
	item, err := c.Get(ctx, recovery.Key(recoveryID), &rec)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	now := t.Now().UTC()
	if err != nil || !rec.Overdue(now) { // its message is due later, and has its own timer
		return nil, err
	}
	rec.Ask(now)
	return []store.Op{rec.Save(c, item.Version)}, nil
}
