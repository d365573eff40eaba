package retrier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// recover sends the failed, dead, held and overdue deliveries of a window again, and those that wait because the endpoint is paused. due tells when to continue; zero means that the
// window is complete.
func (r *Retrier) recover(ctx context.Context, company store.Company, recoveryID string) (due time.Time, err error) {
	finishing := context.WithoutCancel(ctx)
	var rec delivery.StoredRecovery
	item, err := company.Get(finishing, delivery.RecoveryKey(recoveryID), &rec)
	if errors.Is(err, store.ErrNotFound) || err == nil && rec.State == delivery.RecoveryFinished {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	e, err := r.Courier.Known(finishing, company, rec.Provider)
	if err != nil {
		return time.Time{}, err
	}
	if !e.Is(rec.Incarnation) { // there is nothing that it may send
		now := r.Now().UTC()
		rec.State, rec.FinishedAt = delivery.RecoveryFinished, &now
		op := company.Replace(item.Key, delivery.RecoveryEntity, item.Version, rec).Until(rec.RequestedAt.Add(delivery.Kept))
		return time.Time{}, company.Commit(finishing, op)
	}
	if p, paused := e.Pause(r.Now()); paused && rec.DueBy == nil && rec.Only == "" {
		by := p.Until.Add(delivery.PauseSpread)
		rec.DueBy = &by
	}
	if e.Ordered() {
		return r.requeue(store.Patiently(finishing), company, &rec, item.Version)
	}
	return r.send(ctx, e, &rec, item.Version)
}
