package retrier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// These bound the tries to record an attempt. A Lambda tries until its invocation ends. Elsewhere, the attempt and the tries
// together take less than a lease.
const (
	firstPause = 200 * time.Millisecond // doubles with each try
	lastPause  = 5 * time.Second
	recordFor  = 30 * time.Second
)

// record writes the outcome of an attempt, and tries again with backoff. If it cannot write the outcome, it keeps it in
// memory and returns the error. After a conflicting write it returns now, so that the message is handled again with the new
// record.
func (r *Retrier) record(ctx context.Context, company store.Company, key string, o outcome) (due time.Time, err error) {
	if _, limited := ctx.Deadline(); !limited {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, recordFor)
		defer stop()
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		due, err = r.store(ctx, company, key, o)
		if err == nil {
			return due, nil
		}
		r.Logger.WarnContext(ctx, "attempt not recorded; trying again", "company", company.ID(), "key", key, "error", err)
		if !wait.For(ctx, pause) {
			r.kept.put(working{company.ID(), key}, o)
			return time.Time{}, err
		}
	}
}

// store writes a delivery once and returns when its next attempt is due; zero means never.
func (r *Retrier) store(ctx context.Context, company store.Company, key string, o outcome) (due time.Time, err error) {
	err = r.replace(ctx, company, key, o.version, o.delivery)
	if errors.Is(err, store.ErrConflict) {
		return r.Now(), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	r.Courier.Stored(&o.delivery)
	if o.delivery.NextAttemptAt == nil {
		return time.Time{}, nil
	}
	return *o.delivery.NextAttemptAt, nil
}

// claim writes the record of a delivery before its attempt, as due again after a lease. If the write fails, no attempt is
// made. If another message of the delivery has claimed it first, the write conflicts.
func (r *Retrier) claim(ctx context.Context, company store.Company, key string, o *outcome) error {
	o.delivery.Postpone(r.Now().Add(lease))
	if err := r.replace(ctx, company, key, o.version, o.delivery); err != nil {
		return err
	}
	o.version++
	return nil
}

func (r *Retrier) replace(ctx context.Context, company store.Company, key string, version int64, d delivery.Delivery) error {
	op := company.Replace(key, delivery.Entity, version, d).Until(d.Expires())
	err := company.Commit(context.WithoutCancel(ctx), op)
	r.Courier.Recorded(company.ID(), err)
	return err
}
