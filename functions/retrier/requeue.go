package retrier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// requeuePages bounds how many pages of deliveries one call of requeue processes.
const requeuePages = 20

// requeue puts the deliveries of an ordered endpoint's recovery into their lines and the queue, one page a transaction. After each
// portion it waits until the endpoint has drained most of it.
func (r *Retrier) requeue(ctx context.Context, company store.Company, rec *delivery.StoredRecovery, version int64) (due time.Time, err error) {
	if due, err := r.drained(ctx, company, rec); err != nil || !due.IsZero() {
		return due, err
	}
	for range requeuePages {
		ops, err := r.page(ctx, company, rec)
		if err != nil {
			return time.Time{}, err
		}
		op := company.Replace(delivery.RecoveryKey(rec.ID), delivery.RecoveryEntity, version, *rec).Until(rec.RequestedAt.Add(delivery.Kept))
		err = company.Commit(ctx, append(ops, op)...)
		if errors.Is(err, store.ErrConflict) { // a delivery or another worker was faster: read again
			return r.Now(), nil
		}
		if err != nil || rec.State == delivery.RecoveryFinished {
			return time.Time{}, err
		}
		if rec.Fed >= rec.Portion {
			return r.Now().Add(firstLook), nil
		}
		version++
	}
	return r.Now(), nil
}

// These shape the portions of a recovery. A portion should take the endpoint between shortPortion and longPortion: short ones
// leave it idle, and the deliveries of a long one ask for slots more than once.
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
func (r *Retrier) drained(ctx context.Context, company store.Company, rec *delivery.StoredRecovery) (due time.Time, err error) {
	switch {
	case rec.Portion == 0:
		rec.Portion = firstPortion
		if r.Courier.Shared {
			rec.Portion = firstShared
		}
		return time.Time{}, nil
	case rec.Fed < rec.Portion:
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
func (r *Retrier) untried(ctx context.Context, company store.Company, rec *delivery.StoredRecovery) (untried, all int, err error) {
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

// pageBytes bounds the total size of the deliveries in one transaction.
const pageBytes = store.MaxCommit / 2

// page advances a recovery by one page and returns the page's writes.
func (r *Retrier) page(ctx context.Context, company store.Company, rec *delivery.StoredRecovery) ([]store.Op, error) {
	q := rec.Window()
	q.After, q.Limit = rec.After, store.MaxOps-1
	page, err := company.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	now := r.Now().UTC()
	var ops []store.Op
	lines := delivery.NewLines(company)
	size, next := 0, page.Next
	for n, item := range page.Items {
		if delivery.EndpointOf(item.Key) != rec.Provider {
			continue
		}
		var d delivery.Delivery
		if err := item.Decode(&d); err != nil {
			return nil, err
		}
		if !rec.Includes(d, now) {
			continue
		}
		size += len(item.Body)
		if full := len(ops)+lines.Size()+writes(d) > store.MaxOps-1; full || size > pageBytes && len(ops) > 0 {
			next = page.Items[n-1].Key
			break
		}
		if d.Open() { // it is overdue and goes on with its schedule
			d.Enqueue(now)
		} else if err := lines.Join(ctx, &d, now); err != nil {
			return nil, err
		}
		d.Recovery = rec.ID
		ops = append(ops, company.Replace(item.Key, delivery.Entity, item.Version, d).Until(d.Expires()))
	}
	if len(ops) > 0 {
		rec.Last, rec.FedAt = q.After, now
	}
	rec.Fed += len(ops)
	rec.Recovered += len(ops)
	if rec.After = next; rec.After == "" {
		rec.State, rec.FinishedAt = delivery.RecoveryFinished, &now
	}
	return append(ops, lines.Ops()...), nil
}

// writes returns how many writes send a delivery again at most: its own, that of its line, and that of the line's new head if the
// head was lost.
func writes(d delivery.Delivery) int {
	if d.Line == "" {
		return 1
	}
	return 3
}
