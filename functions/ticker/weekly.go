package ticker

import (
	"context"
	"time"

	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// weeklyBrief writes a company's brief of the week before into its timeline. The projector sets the timer of the next one when
// it folds the entry.
func (t *Ticker) weeklyBrief(ctx context.Context, c store.Company, due time.Time) ([]store.Op, error) {
	p, version, err := projection.Load(ctx, c)
	if err != nil || version == 0 {
		return nil, err
	}
	asOf := assessment.AsOf(t.Now())
	entries, err := assessment.Entries(ctx, c, p, asOf.Add(-timeline.Week))
	if err != nil {
		return nil, err
	}
	e, err := assessment.WeeklyEntry(p, asOf, due, entries, "/companies/"+c.ID())
	if err != nil {
		return nil, err
	}
	return []store.Op{e.Create(c)}, nil
}
