package intelligence

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/fault"
	"orgops/shared/id"
	"orgops/shared/insight"
	"orgops/shared/store"
	"orgops/shared/timeline"
	"orgops/shared/web"
)

type briefInput struct {
	web.IfNoneMatch
	Since time.Time `query:"since" doc:"Where the period begins (RFC 3339); left out: 24 hours ago" example:"2026-01-01T00:00:00Z"`
}

func (d Deps) getBrief(ctx context.Context, in *briefInput) (*web.Tagged[insight.Brief], error) {
	k, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	since := in.Since
	if since.IsZero() {
		since = k.asOf.Add(-insight.DefaultBriefSpan)
	}
	if since.After(k.asOf) {
		return nil, fault.Refuse([]fault.Problem{{Pointer: "#/query/since", Detail: "must not be in the future"}})
	}
	if oldest := k.asOf.Add(-timeline.Kept); since.Before(oldest) {
		since = oldest // nothing older is kept
	}
	if in.Matches(k.etag) {
		return web.NotModified[insight.Brief](k.etag), nil
	}
	entries := k.facts.Timeline
	if insight.NeedsHistory(k.facts, since) {
		if entries, err = history(ctx, since); err != nil {
			return nil, err
		}
	}
	return web.WithETag(k.etag, insight.BriefOf(k.facts, k.asOf, since, entries, web.CompanyPath(ctx))), nil
}

// history is the newest entries since a time, as many as a brief can tell and one more.
func history(ctx context.Context, since time.Time) ([]timeline.Entry, error) {
	page, err := web.Tenant(ctx).Query(ctx, store.Query{
		Prefix: timeline.Prefix, From: timeline.Key(id.First(since)), Desc: true, Limit: insight.MaxChanges + 1,
	})
	if err != nil {
		return nil, store.Fault(err, "")
	}
	entries := make([]timeline.Entry, len(page.Items))
	for i, item := range page.Items {
		if err := json.Unmarshal(item.Body, &entries[i]); err != nil {
			return nil, fmt.Errorf("decode %s: %w", item.Key, err)
		}
	}
	return entries, nil
}
