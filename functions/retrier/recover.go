package retrier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// recoverPages bounds how many pages of deliveries one call of recover processes.
const recoverPages = 20

// recover requeues the failed, dead, held and overdue deliveries of a window, one page a transaction. due tells when to continue;
// zero means that the window is complete.
func (r *Retrier) recover(ctx context.Context, company store.Company, recoveryID string) (due time.Time, err error) {
	var rec delivery.StoredRecovery
	item, err := company.Get(ctx, delivery.RecoveryKey(recoveryID), &rec)
	if errors.Is(err, store.ErrNotFound) || err == nil && rec.State == delivery.RecoveryFinished {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	version := item.Version
	for range recoverPages {
		ops, err := r.page(ctx, company, &rec)
		if err != nil {
			return time.Time{}, err
		}
		op := company.Replace(delivery.RecoveryKey(rec.ID), delivery.RecoveryEntity, version, rec).Until(rec.RequestedAt.Add(delivery.Kept))
		err = company.Commit(ctx, append(ops, op)...)
		if errors.Is(err, store.ErrConflict) { // a delivery or another worker was faster: read again
			return r.Now(), nil
		}
		if err != nil || rec.State == delivery.RecoveryFinished {
			return time.Time{}, err
		}
		version++
	}
	return r.Now(), nil
}

// pageBytes bounds the total size of the deliveries in one transaction.
const pageBytes = store.MaxCommit / 2

// page advances a recovery by one page and returns the page's writes.
func (r *Retrier) page(ctx context.Context, company store.Company, rec *delivery.StoredRecovery) ([]store.Op, error) {
	page, err := company.Query(ctx, store.Query{
		Prefix: delivery.Prefix, From: delivery.Prefix + id.First(rec.Since), To: delivery.Prefix + id.Last(rec.Until) + "~",
		After: rec.After, Limit: store.MaxOps - 1,
	})
	if err != nil {
		return nil, err
	}
	now := r.Now().UTC()
	var ops []store.Op
	size, next := 0, page.Next
	for n, item := range page.Items {
		if delivery.EndpointOf(item.Key) != rec.Provider {
			continue
		}
		var d delivery.Delivery
		if err := json.Unmarshal(item.Body, &d); err != nil {
			return nil, fmt.Errorf("decode %s: %w", item.Key, err)
		}
		overdue := d.Overdue(now)
		if !overdue && !d.Recoverable() {
			continue
		}
		if size += len(item.Body); size > pageBytes && len(ops) > 0 {
			next = page.Items[n-1].Key
			break
		}
		if overdue { // it goes on with its schedule
			d.Enqueue(now)
		} else {
			d.Restart(now)
		}
		ops = append(ops, company.Replace(item.Key, delivery.Entity, item.Version, d).Until(d.Expires()))
	}
	rec.Recovered += len(ops)
	if rec.After = next; rec.After == "" {
		rec.State, rec.FinishedAt = delivery.RecoveryFinished, &now
	}
	return ops, nil
}
