package retrier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// recover sends the failed, dead, held and overdue deliveries of a window again, and those that wait because the endpoint is paused,
// for a while. The recovery's record then asks for the next message. due tells when to redeliver this one; zero means never.
func (r *Retrier) recover(ctx context.Context, company store.Company, job delivery.Job) (due time.Time, err error) {
	rec, version, err := turnOf(ctx, company, job)
	if err != nil || version == 0 {
		return time.Time{}, err
	}
	due, err = r.run(ctx, company, rec, version)
	if err != nil || due.IsZero() {
		return due, err
	}
	rec, version, err = turnOf(ctx, company, job)
	if err != nil || version == 0 {
		return time.Time{}, err
	}
	rec.Ask(due)
	err = company.Commit(store.Patiently(context.WithoutCancel(ctx)), rec.Save(company, version))
	if errors.Is(err, store.ErrConflict) { // another worker was faster
		return due, nil
	}
	return time.Time{}, err
}

// turnOf reads the recovery of a job. version is 0 if the job has no effect any more.
func turnOf(ctx context.Context, company store.Company, job delivery.Job) (rec delivery.StoredRecovery, version int64, err error) {
	item, err := company.Get(context.WithoutCancel(ctx), delivery.RecoveryKey(job.Recovery), &rec)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return rec, 0, nil
	case err != nil || rec.State == delivery.RecoveryFinished || rec.Turn != job.Turn:
		return rec, 0, err
	}
	return rec, item.Version, nil
}

// run works on a recovery for a while. due tells when to continue; zero means that the window is complete.
func (r *Retrier) run(ctx context.Context, company store.Company, rec delivery.StoredRecovery, version int64) (due time.Time, err error) {
	finishing := context.WithoutCancel(ctx)
	e, err := r.Courier.Endpoint(finishing, company, rec.Provider)
	if err != nil {
		return time.Time{}, err
	}
	if because, _ := e.Held(rec.Incarnation, r.Now()); because == delivery.HeldDeleted { // there is nothing that it may send
		rec.Finish(r.Now())
		return time.Time{}, company.Commit(finishing, rec.Save(company, version))
	}
	if p, paused := e.Pause(r.Now()); paused && rec.DueBy == nil && rec.Only == "" {
		by := p.Until.Add(delivery.PauseSpread)
		rec.DueBy = &by
	}
	if due, err := r.drained(finishing, company, &rec); err != nil || !due.IsZero() {
		return due, err
	}
	return r.send(ctx, e, &rec, version)
}
