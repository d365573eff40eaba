package retrier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/delivery"
	"orgops/shared/id"
	"orgops/shared/recovery"
	"orgops/shared/store"
)

// recoverPages is how many pages of deliveries one turn at a recovery goes through.
const recoverPages = 20

// recover puts the failed, dead and held deliveries of a window back into the queue, a page a transaction. due is when
// to go on; zero when the window has been gone through.
func (r *Retrier) recover(ctx context.Context, company store.Company, recoveryID string) (due time.Time, err error) {
	var rec recovery.Record
	item, err := company.Get(ctx, recovery.Key(recoveryID), &rec)
	if errors.Is(err, store.ErrNotFound) || err == nil && rec.State == recovery.Finished {
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
		op := company.Replace(recovery.Key(rec.ID), recovery.Entity, version, rec).Until(rec.RequestedAt.Add(recovery.Kept))
		err = company.Commit(ctx, append(ops, op)...)
		if errors.Is(err, store.ErrConflict) { // a delivery moved on, or another worker did: look again
			return r.Now(), nil
		}
		if err != nil || rec.State == recovery.Finished {
			return time.Time{}, err
		}
		version++
	}
	return r.Now(), nil
}

// pageBytes is how large the deliveries of one transaction may be together.
const pageBytes = store.MaxCommit / 2

// page is the writes of the next page of a recovery, which it moves along.
func (r *Retrier) page(ctx context.Context, company store.Company, rec *recovery.Record) ([]store.Op, error) {
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
		if !d.Recoverable() {
			continue
		}
		if size += len(item.Body); size > pageBytes && len(ops) > 0 {
			next = page.Items[n-1].Key
			break
		}
		d.Request(now)
		ops = append(ops, company.Replace(item.Key, delivery.Entity, item.Version, d).Until(d.CreatedAt.Add(delivery.Kept)))
	}
	rec.Recovered += len(ops)
	if rec.After = next; rec.After == "" {
		rec.State, rec.FinishedAt = recovery.Finished, &now
	}
	return ops, nil
}
