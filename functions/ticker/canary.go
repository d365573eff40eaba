package ticker

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/base/wait"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/parked"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// CanaryCompany names the company whose changes show that the readers of the feed work. It is in no registry and has no user, so no
// tenant sees it.
const CanaryCompany = "canary"

// Times of the canary's changes.
const (
	canaryLate  = 3 * time.Minute // a reader that is further behind is late
	canaryAgain = time.Hour       // a change that a reader has missed is written again, so that its repair shows
)

// canary writes a change for each reader of the feed, and counts a reader that has not handled the former one in time, and a delivery
// that has not come back. A disabled reader has no metric of its own that could raise an alarm.
func (t *Ticker) canary(ctx context.Context, now time.Time) error {
	c := store.For(t.Store, CanaryCompany)
	return errors.Join(t.projected(ctx, c, now), t.dispatched(ctx, c, now), t.echoes(ctx, c, now))
}

// projected changes a memory each minute, which the projector folds into the company's context.
func (t *Ticker) projected(ctx context.Context, c store.Company, now time.Time) error {
	next, _ := memory.Apply(memory.Memory{}, "canary", memory.Draft{ExternalID: "canary", Kind: "canary", Title: now.Format(time.RFC3339)}, now)
	var was memory.Memory
	item, err := c.Get(ctx, memory.Key(next.ID), &was)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if item.Version > 0 {
		next.CreatedAt = was.CreatedAt
		p, _, err := projection.Load(ctx, c)
		if err != nil {
			return err
		}
		if item.At.Sub(wait.Later(p.UpdatedAt, was.CreatedAt)) > canaryLate {
			t.late(ctx, "projector", p.UpdatedAt)
		}
	}
	return taken(c.Commit(ctx, c.Save(memory.Key(next.ID), memory.Entity, item.Version, next)))
}

// dispatched gives the dispatcher a parked change without events, which it removes.
func (t *Ticker) dispatched(ctx context.Context, c store.Company, now time.Time) error {
	change := store.Change{Company: c.ID(), Key: "CANARY", Entity: "canary", At: now, New: &store.Image{Version: 1, Body: []byte("{}")}}
	next := parked.New("dispatcher", change, errCanary, now)
	next.ID, next.Retries = "canary", 1
	var was parked.Change
	item, err := c.Get(ctx, parked.Key(next.ID), &was)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if item.Version > 0 {
		if now.Sub(was.ParkedAt) > canaryLate {
			t.late(ctx, "dispatcher", was.ParkedAt)
		}
		if now.Sub(item.At) < canaryAgain {
			return nil
		}
		next.ParkedAt = was.ParkedAt
	}
	return taken(c.Commit(ctx, c.Save(parked.Key(next.ID), parked.Entity, item.Version, next).Until(now.Add(parked.Kept))))
}

var errCanary = errors.New("shows that the dispatcher works")

// late counts and logs a reader of the feed, or the receiver of a delivery, that is late.
func (t *Ticker) late(ctx context.Context, reader string, since time.Time) {
	t.Metrics.Count(metric.CanaryLate, 1)
	t.Logger.ErrorContext(ctx, "what handles the canary is late", "which", reader, "since", since)
}

// taken ignores that another process has written the change.
func taken(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
