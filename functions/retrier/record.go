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
// memory and returns the error.
func (r *Retrier) record(ctx context.Context, company store.Company, key string, o outcome) error {
	if _, limited := ctx.Deadline(); !limited {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, recordFor)
		defer stop()
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := r.store(ctx, company, key, o)
		if err == nil || errors.Is(err, store.ErrConflict) {
			return err
		}
		r.Logger.WarnContext(ctx, "attempt not recorded; trying again", "company", company.ID(), "key", key, "error", err)
		if !wait.For(ctx, pause) {
			r.kept.put(working{company.ID(), key}, o)
			return err
		}
	}
}

// lineTries bounds how often store repeats a write because the delivery's line has changed.
const lineTries = 20

var errBusyLine = errors.New("the delivery's line changes too often")

// store writes a delivery. If the delivery has ended, it leaves its line in the same transaction.
func (r *Retrier) store(ctx context.Context, company store.Company, key string, o outcome) error {
	ctx = context.WithoutCancel(ctx)
	if o.delivery.Line == "" { // no other delivery waits for this record
		ctx = store.Patiently(ctx)
	}
	for range lineTries {
		lines := delivery.NewLines(company)
		next, err := lines.Leave(ctx, o.delivery, r.Now())
		if err != nil {
			return err
		}
		op := company.Replace(key, delivery.Entity, o.version, o.delivery).Until(o.delivery.Expires())
		err = company.Commit(ctx, append(append([]store.Op{op}, next...), lines.Ops()...)...)
		var conflict *store.ConflictError
		if errors.As(err, &conflict) && conflict.Index > 0 {
			continue
		}
		r.Courier.Recorded(company.ID(), err)
		if err == nil {
			r.Courier.Stored(&o.delivery)
		}
		return err
	}
	return errBusyLine
}

// claim writes the record of a delivery before its attempt, as due again after a lease. If the write fails, no attempt is
// made. If another message of the delivery has claimed it first, the write conflicts.
func (r *Retrier) claim(ctx context.Context, company store.Company, key string, o *outcome) error {
	o.delivery.Postpone(r.Now().Add(lease))
	op := company.Replace(key, delivery.Entity, o.version, o.delivery).Until(o.delivery.Expires())
	err := company.Commit(context.WithoutCancel(ctx), op)
	r.Courier.Recorded(company.ID(), err)
	if err == nil {
		o.version++
	}
	return err
}
