package erasure

import (
	"context"
	"errors"
	"time"

	"orgops/shared/storage/store"
)

// The hours in which the company's timers are looked for: from the oldest that the ticker still retries to behind the end of a
// certification of 90 days, whose timer names the provider. A timer beyond has only the id of an item in it.
const (
	timersBehind = 27 * time.Hour
	timersAhead  = 100 * 24 * time.Hour
	savedEvery   = 200 // hours
)

// timers removes the company's timers, but for those of the erasure. It resumes at the hour that the receipt names.
func (s *round) timers(ctx context.Context) (bool, error) {
	if s.receipt.ErasedAt != nil {
		return true, nil
	}
	now := s.Now().UTC()
	hour := now.Add(-timersBehind).Truncate(time.Hour)
	if s.receipt.TimersTo != nil {
		hour = *s.receipt.TimersTo
	}
	for n := 1; hour.Before(now.Add(timersAhead)); n++ {
		if err := s.hour(ctx, s.c.DueIn(hour)); err != nil {
			return false, err
		}
		hour = hour.Add(time.Hour)
		late := s.late(ctx)
		if n%savedEvery == 0 || late {
			r := s.receipt
			r.TimersTo = &hour
			if err := s.save(ctx, r); err != nil || late {
				return false, err
			}
		}
	}
	return true, nil
}

// hour removes the company's timers of one hour. A timer that fires meanwhile has been removed by the ticker.
func (s *round) hour(ctx context.Context, p store.Partition) error {
	for item, err := range store.Items(ctx, s.Store, p, store.Query{}) {
		if err != nil {
			return err
		}
		var t store.Timer
		if item.Decode(&t) != nil || t.Company != s.c.ID() || t.Kind == Timer {
			continue
		}
		err = s.save(ctx, s.receipt.with(map[string]int{item.Entity: 1}), remove(p, item))
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}
