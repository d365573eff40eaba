package intelligence

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

type briefInput struct {
	web.IfNoneMatch
	Since time.Time `query:"since" doc:"Start of the period (RFC 3339); default: 24 hours ago" example:"2026-01-01T00:00:00Z"`
}

func (d Deps) getBrief(ctx context.Context, in *briefInput) (*web.Tagged[assessment.Brief], error) {
	facts, etag, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	since := in.Since
	if since.IsZero() {
		since = facts.AsOf.Add(-assessment.DefaultBriefSpan)
	}
	if since.After(facts.AsOf) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "#/query/since", Detail: "must not be in the future"}})
	}
	if oldest := facts.AsOf.Add(-timeline.Kept); since.Before(oldest) {
		since = oldest // older entries have expired
	}
	if in.Matches(etag) {
		return web.NotModified[assessment.Brief](etag), nil
	}
	entries := facts.Timeline
	if assessment.NeedsHistory(facts.Context, since) {
		if entries, err = history(ctx, since); err != nil {
			return nil, err
		}
	}
	return web.WithETag(etag, assessment.BriefOf(facts.Context, facts.AsOf, since, entries, web.CompanyPath(ctx))), nil
}

// history returns the latest entries since a time: as many as a brief shows, and one more.
func history(ctx context.Context, since time.Time) ([]timeline.Entry, error) {
	page, err := web.Tenant(ctx).Query(ctx, store.Query{
		Prefix: timeline.Prefix, From: timeline.Key(id.First(since)), Desc: true, Limit: assessment.MaxChanges + 1,
	})
	if err != nil {
		return nil, store.Fault(err, "")
	}
	entries := make([]timeline.Entry, len(page.Items))
	for i, item := range page.Items {
		if err := item.Decode(&entries[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
