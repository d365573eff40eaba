package retrier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
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
func turnOf(ctx context.Context, company store.Company, job delivery.Job) (rec recovery.Stored, version int64, err error) {
	item, err := company.Get(context.WithoutCancel(ctx), recovery.Key(job.Recovery), &rec)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return rec, 0, nil
	case err != nil || rec.State == recovery.Finished || rec.Turn != job.Turn:
		return rec, 0, err
	}
	return rec, item.Version, nil
}

// run works on a recovery for a while. due tells when to continue; zero means that the window is complete.
func (r *Retrier) run(ctx context.Context, company store.Company, rec recovery.Stored, version int64) (due time.Time, err error) {
	finishing := context.WithoutCancel(ctx)
	e, err := r.Courier.Endpoint(finishing, company, rec.Provider)
	if err != nil {
		return time.Time{}, err
	}
	if because, _ := e.Held(rec.Incarnation, r.Now()); because == delivery.HeldDeleted { // there is nothing that it may send
		rec.Finish(r.Now())
		return time.Time{}, company.Commit(finishing, rec.Save(company, version))
	}
	if p, paused := r.Courier.Pause(e); paused && rec.DueBy == nil && rec.Only == "" {
		by := p.Until.Add(delivery.PauseSpread)
		rec.DueBy = &by
	}
	if due, err := r.drained(finishing, company, &rec); err != nil || !due.IsZero() {
		return due, err
	}
	return r.send(ctx, e, &rec, version)
}

// These shape the portions of an ordered endpoint's recovery. The deliveries go into their lines and the queue, and each message that
// finds no slot comes back until it does. A portion should take the endpoint between shortPortion and longPortion: short ones
// leave it idle, and the deliveries of a long one ask for slots more than once. Without portions, a recovery of 3,000 deliveries takes
// 16 % more CPU time at 100 a second, and a fifth less time at an endpoint that answers at once. A large one at a slow endpoint would
// wait for so long that its deliveries are overdue, and are written again.
const (
	firstPortion = 1000
	firstShared  = 200 // of processes that share an endpoint: about as many attempts as may be in flight
	leastPortion = 100
	mostPortion  = 4000
	shortPortion = 6 * time.Second
	longPortion  = 30 * time.Second
	firstLook    = time.Second // then a quarter of the time since
	lastLook     = 30 * time.Second
	patience     = 10 * time.Minute // with an endpoint that does not drain; its deliveries are overdue later
)

// drained begins the next portion of a recovery, larger or smaller than the last one, if most of the last one is drained or it has
// taken too long. Otherwise due tells when to look again. It looks only at the page that was put into the queue last.
func (r *Retrier) drained(ctx context.Context, company store.Company, rec *recovery.Stored) (due time.Time, err error) {
	if rec.Fed == 0 || rec.Fed < rec.Portion {
		return time.Time{}, nil
	}
	took := r.Now().Sub(rec.FedAt)
	if took < patience {
		untried, all, err := r.untried(ctx, company, rec)
		if err != nil {
			return time.Time{}, err
		}
		if untried > all/4 {
			return r.Now().Add(min(max(took/4, firstLook), lastLook)), nil
		}
	}
	switch {
	case took < shortPortion:
		rec.Portion = min(2*rec.Portion, mostPortion)
	case took > longPortion:
		rec.Portion = max(rec.Portion/2, leastPortion)
	}
	rec.Fed = 0
	return time.Time{}, nil
}

// untried counts the deliveries of the page that a recovery has put into the queue last, and those that wait for their first attempt.
func (r *Retrier) untried(ctx context.Context, company store.Company, rec *recovery.Stored) (untried, all int, err error) {
	q := rec.Window()
	q.After, q.Limit, q.To = rec.Last, store.MaxOps-1, rec.After
	page, err := company.Query(ctx, q)
	if err != nil {
		return 0, 0, err
	}
	for _, item := range page.Items {
		var d delivery.Delivery
		if err := item.Decode(&d); err != nil {
			return 0, 0, err
		}
		if d.Recovery != rec.ID {
			continue
		}
		if all++; d.Made == 0 && (d.Open() || d.State == delivery.Waiting) {
			untried++
		}
	}
	return untried, all, nil
}

// portion counts the deliveries of a page that joined their lines, and ends the run when the portion is in the queue.
func (b *backlog) portion(joined int, now time.Time) {
	if joined == 0 {
		return
	}
	if b.rec.Portion == 0 {
		b.rec.Portion = firstPortion
		if b.Courier.Shared {
			b.rec.Portion = firstShared
		}
	}
	b.rec.Last, b.rec.FedAt = b.after, now
	if b.rec.Fed += joined; b.rec.Fed >= b.rec.Portion {
		b.due = now.Add(firstLook)
	}
}
