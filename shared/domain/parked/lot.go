package parked

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/storage/store"
)

// Lot parks the changes of one consumer. All fields are required except Metrics.
type Lot struct {
	Store    store.Store
	Consumer string
	Logger   *slog.Logger
	Metrics  *metric.Recorder // nil: no metrics are recorded
	Now      func() time.Time
}

// parkTimeout limits one call of Park or ParkRecord.
const parkTimeout = 10 * time.Second

// Park stores a change with the reason why the consumer does not understand it. To park the same change again has no effect.
// After an error the change is not parked, and the consumer must not finish it. A parked change that an operator has given
// back stays as it is.
func (l Lot) Park(ctx context.Context, c store.Change, reason error) error {
	if c.Entity == Entity {
		l.report(ctx, c, strings.TrimPrefix(c.Key, Prefix), reason.Error())
		return nil
	}
	return l.store(ctx, c.Company, New(l.Consumer, c, reason, l.Now()))
}

// ParkRecord stores a record of the stream that gave no change. c identifies the change and has no images. ParkRecord only logs
// a record of no company, because no consumer has work with it.
func (l Lot) ParkRecord(ctx context.Context, c store.Change, r Record, reason error) error {
	if c.Company == "" {
		l.Logger.ErrorContext(ctx, "stream record of no company ignored", "sequence", r.Sequence, "error", reason)
		return nil
	}
	c.Old, c.New = nil, nil
	out := New(l.Consumer, c, reason, l.Now())
	if out.Record = &r; r.size() > maxImages {
		out.Record, out.Omitted = nil, true
	}
	return l.store(ctx, c.Company, out)
}

// store writes a parked change quietly, so that the feed does not carry it to the consumers.
func (l Lot) store(ctx context.Context, companyID string, c Change) error {
	ctx, cancel := context.WithTimeout(ctx, parkTimeout)
	defer cancel()
	company := store.For(l.Store, companyID)
	err := company.Commit(ctx, company.Create(Key(c.ID), Entity, c).Until(c.ParkedAt.Add(Kept)).Quietly())
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	l.report(ctx, store.Change{Company: companyID, Key: c.Key}, c.ID, c.Reason)
	return nil
}

// report counts and logs a parked change.
func (l Lot) report(ctx context.Context, c store.Change, parkedID, reason string) {
	l.Metrics.Trouble(metric.ChangesParked, c.Company)
	l.Logger.ErrorContext(ctx, "change parked", "consumer", l.Consumer, "company", c.Company, "key", c.Key, "parked", parkedID, "error", reason)
}

// Remove removes a parked change that the consumer has handled. It has no effect if the item has changed since the version.
func (l Lot) Remove(ctx context.Context, companyID, key string, version int64) error {
	ctx, cancel := context.WithTimeout(ctx, parkTimeout)
	defer cancel()
	company := store.For(l.Store, companyID)
	err := company.Commit(ctx, company.Delete(key, Entity, version).Quietly())
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
