package syncer

import (
	"context"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
)

// missed holds what the full run before has missed in a list with numbered pages.
type missed struct {
	syncrun.Missed
	ids syncrun.Seen
}

// before returns what the full run before has missed.
func (s *slice) before(ctx context.Context) (missed, error) {
	if s.missed == nil {
		slot, err := s.held(ctx)
		if err != nil {
			return missed{}, err
		}
		s.missed = &missed{Missed: slot.Missed, ids: slot.Missed.IDs.Set()}
	}
	return *s.missed, nil
}

// find notes in the run's record which items of a page the full run before has missed. So they are no longer missed when the
// run has ended, also if it fails.
func (s *slice) find(ctx context.Context, shown []string) error {
	if _, ok := s.lister(); !ok {
		return nil
	}
	before, err := s.before(ctx)
	if err != nil {
		return err
	}
	for _, id := range shown {
		if before.ids.Has(id) && !s.record.Work.Found.Has(id) {
			s.record.Work.Found = s.record.Work.Found.Add(id)
		}
	}
	return nil
}

// sure reports whether an item that the run has missed is gone. If the pages may have shifted, the full run before must have
// missed the item too: from the same source, with the same credentials, and the item has not changed since.
func (s *slice) sure(ctx context.Context, i integration.Integration, c candidate) (bool, error) {
	if !s.record.Work.Shifting {
		return true, nil
	}
	before, err := s.before(ctx)
	if err != nil || before.Source != s.source || renewed(i, before.Began) {
		return false, err
	}
	return before.ids.Has(c.id) && c.updated.Before(before.Began), nil
}

// renewed reports whether credentials were stored since a time. They may show more than those before, or less.
func renewed(i integration.Integration, since time.Time) bool {
	return i.Credentials != nil && !i.Credentials.UpdatedAt.Before(since)
}

// putOff leaves the removal of an item to the next full run. The items for which the list has no room are missed again by
// that run, which has removed the others.
func (s *slice) putOff(c candidate, at *syncrun.Sweep) {
	if at.Missed.Len() < syncrun.MaxMissed {
		at.Missed = at.Missed.Add(c.id)
	}
}

// missing returns what a sweep leaves to the next full run.
func (s *slice) missing(at syncrun.Sweep) *syncrun.Missed {
	if at.Missed.Len() == 0 {
		return &syncrun.Missed{}
	}
	return &syncrun.Missed{IDs: at.Missed, Source: s.source, Began: *s.record.StartedAt}
}
