package courier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// These bound the tries to record an attempt, and the waits between them. A Lambda tries until its invocation ends. Elsewhere, an
// attempt of the Queue and the tries together take less than a claim.
const (
	firstPause = 200 * time.Millisecond // doubles with each try
	lastPause  = 5 * time.Second
	recordFor  = 30 * time.Second
	claimed    = time.Minute // for an attempt and its record
)

// backoff returns the wait after a number of tries.
func backoff(tries int) time.Duration { return min(firstPause<<min(tries-1, 10), lastPause) }

// unwritten sets the wait of a message whose delivery could not be claimed, because the store refuses writes. It does not
// grow, as the wait after an error does, so that a company whose partition was throttled goes on soon.
const unwritten = 20 * time.Second

// read reads the delivery of a Queue's task. due tells when its next attempt is due; zero means that the task has no effect any more.
func (c *Courier) read(ctx context.Context, t *Task) (due time.Time, err error) {
	var d delivery.Delivery
	item, err := t.Company.Get(ctx, t.Key, &d)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	case !d.Open() || d.Generation != t.Generation: // settled, or a later generation has its own message
		return time.Time{}, nil
	}
	t.Delivery, t.Version = d, item.Version
	return *d.NextAttemptAt, nil
}

// claim writes the record of a delivery before its attempt, as due again after a while. If the write fails, no attempt is
// made. If another message of the delivery has claimed it first, the write conflicts.
func (c *Courier) claim(ctx context.Context, t *Task) error {
	t.Delivery.Postpone(c.Now().Add(claimed))
	err := t.Company.Commit(ctx, t.Delivery.Save(t.Company, t.Version))
	c.records.wrote(t.slot.Company, err)
	if err == nil {
		t.Version++
	}
	return err
}

// save writes the record of a delivery, and tries again with backoff, a few times if the store refuses it. If it cannot write the
// record, it keeps it in memory and returns the error.
func (c *Courier) save(ctx context.Context, t *Task) error {
	if _, limited := ctx.Deadline(); !limited {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, recordFor)
		defer stop()
	}
	for tries := 1; ; tries++ {
		err := c.replace(ctx, t)
		if err == nil || errors.Is(err, store.ErrConflict) {
			return err
		}
		c.Logger.WarnContext(ctx, "attempt not recorded; trying again", "company", t.slot.Company, "key", t.Key, "error", err)
		if tries >= refusals && refused(err) || !wait.For(ctx, backoff(tries)) {
			c.records.keep(t)
			return err
		}
	}
}

// lineTries bounds how often replace repeats a write because the delivery's line has changed.
const lineTries = 20

var errBusyLine = fmt.Errorf("%w: the delivery's line changes too often", store.ErrUnavailable)

// replace writes the record of a delivery. If the delivery has ended, it leaves its line in the same transaction.
func (c *Courier) replace(ctx context.Context, t *Task) error {
	ctx = context.WithoutCancel(ctx)
	if t.Delivery.Line == "" { // no other delivery waits for this record
		ctx = store.Patiently(ctx)
	}
	for range lineTries {
		lines := delivery.NewLines(t.Company)
		if err := lines.Leave(ctx, t.Delivery, c.Now()); err != nil {
			return err
		}
		err := t.Company.Commit(ctx, lines.Ops(t.Delivery.Save(t.Company, t.Version))...)
		var conflict *store.ConflictError
		if errors.As(err, &conflict) && conflict.Index > 0 {
			continue
		}
		c.records.wrote(t.slot.Company, err)
		if err == nil {
			c.count(&t.Delivery)
		}
		return err
	}
	return errBusyLine
}

// settle returns the outcome of a task after a write of its delivery. After a success the record has its own message if another
// attempt is due. After a conflict a tenant or another worker has changed the delivery, which goes on with their change. But a message
// waits if another one has claimed the delivery: that one's worker may end without its attempt.
func (c *Courier) settle(ctx context.Context, t *Task, written error) Outcome {
	switch {
	case !errors.Is(written, store.ErrConflict):
		return Outcome{Err: written}
	case t.Source == Backlog:
		return Outcome{}
	}
	due, err := c.read(context.WithoutCancel(ctx), t)
	if !due.IsZero() && !due.After(c.Now()) {
		due = c.soon()
	}
	return Outcome{Until: due, Err: err}
}
