package assessment

import (
	"context"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// NeedsHistory reports whether the caller must read the stored timeline to get every entry since a time. The context lists
// the newest entries only.
func NeedsHistory(p projection.Context, since time.Time) bool {
	n := len(p.Timeline)
	return n >= projection.MaxTimeline && !p.Timeline[n-1].At.Before(since)
}

// Entries returns the timeline entries since a time that a brief needs, newest first. It reads the stored timeline only if the
// context does not list them all. Beyond MaxChanges it reads an entry for each weekly brief, because a brief shows none.
func Entries(ctx context.Context, c store.Company, p projection.Context, since time.Time) ([]timeline.Entry, error) {
	if !NeedsHistory(p, since) {
		return p.Timeline, nil
	}
	weeks := 1 + int(max(p.UpdatedAt.Sub(since), 0)/timeline.Week)
	page, err := c.Query(ctx, store.Query{
		Prefix: timeline.Prefix, From: timeline.Key(id.First(since)), Desc: true, Limit: MaxChanges + 1 + weeks,
	})
	if err != nil {
		return nil, err
	}
	entries := make([]timeline.Entry, len(page.Items))
	for i, item := range page.Items {
		if err := item.Decode(&entries[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
