package erasure

import (
	"context"
	"errors"

	"orgops/shared/storage/store"
)

// place says up to where timers were removed: in the shards before, and in this one up to a key.
type place struct {
	Shard int    `json:"shard"`
	After string `json:"after,omitempty"`
}

// timers removes the company's timers, but for those of the erasure. It resumes at the place that the receipt names.
func (s *round) timers(ctx context.Context) (bool, error) {
	if s.receipt.ErasedAt != nil {
		return true, nil
	}
	at := *s.receipt.TimersAt
	for at.Shard < store.DueShards {
		if s.late(ctx) {
			return false, nil
		}
		p := store.Due(at.Shard)
		page, err := s.Store.Query(ctx, p, store.Query{After: at.After})
		if err != nil {
			return false, err
		}
		next := place{at.Shard, page.Next}
		if page.Next == "" {
			next = place{Shard: at.Shard + 1}
		}
		if err := s.page(ctx, p, page.Items, next); err != nil {
			return false, err
		}
		at = next
	}
	return true, nil
}

// page removes the company's timers of a page. A timer that fires meanwhile has been removed by the ticker.
func (s *round) page(ctx context.Context, p store.Partition, items []store.Item, next place) error {
	var own []store.Op
	for _, item := range items {
		var t store.Timer
		if item.Decode(&t) == nil && t.Company == s.c.ID() && t.Kind != Timer {
			own = append(own, remove(p, item))
		}
	}
	for len(own) > 0 {
		n := min(len(own), maxBatch)
		err := s.gone(ctx, own[:n]...)
		if errors.Is(err, store.ErrConflict) {
			err = s.each(ctx, own[:n])
		}
		if err != nil {
			return err
		}
		own = own[n:]
	}
	r := s.receipt
	r.TimersAt = &next
	return s.save(ctx, r)
}

// each removes timers of which some have fired.
func (s *round) each(ctx context.Context, ops []store.Op) error {
	for _, op := range ops {
		if err := s.gone(ctx, op); err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// gone commits the removal of timers.
func (s *round) gone(ctx context.Context, ops ...store.Op) error {
	return s.save(ctx, s.receipt.with(map[string]int{ops[0].Entity: len(ops)}), ops...)
}
