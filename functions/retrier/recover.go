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
	b := &backlog{Retrier: r, company: company, results: make(chan result)}
	finishing := context.WithoutCancel(ctx)
	item, err := company.Get(finishing, recovery.Key(job.Recovery), &b.rec)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return time.Time{}, nil
	case err != nil || b.rec.State == recovery.Finished || b.rec.Turn != job.Turn: // the job has no effect any more
		return time.Time{}, err
	}
	b.version, b.after = item.Version, b.rec.After
	due, err = b.work(ctx)
	if err != nil || due.IsZero() {
		return due, err
	}
	b.rec.Ask(due)
	err = company.Commit(store.Patiently(finishing), b.rec.Save(company, b.version))
	if errors.Is(err, store.ErrConflict) { // another worker was faster
		return due, nil
	}
	return time.Time{}, err
}

// work works on a recovery for a while. due tells when to continue; zero means that the window is complete.
func (b *backlog) work(ctx context.Context) (due time.Time, err error) {
	finishing := context.WithoutCancel(ctx)
	if b.endpoint, err = b.Courier.Endpoint(finishing, b.company, b.rec.Provider); err != nil {
		return time.Time{}, err
	}
	now := b.Now()
	if because, _ := b.endpoint.Held(b.rec.Incarnation, now); because == delivery.HeldDeleted { // there is nothing that it may send
		b.rec.Finish(now)
		return time.Time{}, b.company.Commit(finishing, b.rec.Save(b.company, b.version))
	}
	if due, err := b.drained(finishing); err != nil || !due.IsZero() {
		return due, err
	}
	end, err := b.Courier.Occupy(ctx, b.endpoint)
	switch {
	case errors.Is(err, store.ErrConflict):
		return now.Add(otherRun + b.Courier.Spill()), nil
	case err != nil:
		return time.Time{}, err
	}
	defer end()
	if p, paused := b.Courier.Pause(b.endpoint); paused && b.rec.DueBy == nil && b.rec.Only == "" {
		by := p.Until.Add(delivery.PauseSpread)
		b.rec.DueBy = &by
	}
	b.ends = b.Now().Add(sendFor)
	return b.run(ctx)
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
func (b *backlog) drained(ctx context.Context) (due time.Time, err error) {
	rec := &b.rec
	if rec.Fed == 0 || rec.Fed < rec.Portion {
		return time.Time{}, nil
	}
	took := b.Now().Sub(rec.FedAt)
	if took < patience {
		untried, all, err := b.untried(ctx)
		if err != nil {
			return time.Time{}, err
		}
		if untried > all/4 {
			return b.Now().Add(min(max(took/4, firstLook), lastLook)), nil
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
func (b *backlog) untried(ctx context.Context) (untried, all int, err error) {
	q := b.rec.Window()
	q.After, q.Limit, q.To = b.rec.Last, store.MaxOps-1, b.rec.After
	page, err := b.company.Query(ctx, q)
	if err != nil {
		return 0, 0, err
	}
	for _, item := range page.Items {
		var d delivery.Delivery
		if err := item.Decode(&d); err != nil {
			return 0, 0, err
		}
		if d.Recovery != b.rec.ID {
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
