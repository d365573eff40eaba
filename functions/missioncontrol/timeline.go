package missioncontrol

import (
	"context"
	"time"

	"orgops/shared/fault"
	"orgops/shared/id"
	"orgops/shared/projection"
	"orgops/shared/store"
	"orgops/shared/timeline"
	"orgops/shared/web"
)

type timelineInput struct {
	web.PageQuery
	web.IfNoneMatch
	Since time.Time `query:"since" doc:"Only entries from this time on (RFC 3339)" example:"2026-01-01T00:00:00Z"`
	Until time.Time `query:"until" doc:"Only entries up to this time (RFC 3339)" example:"2026-02-01T00:00:00Z"`
	Kind  string    `query:"kind" enum:"integration.configured,integration.certified,integration.sandboxed,integration.disabled,memory.synced,goal.updated,goal.alignment.changed,policy.denied,note" doc:"Only entries of this kind"`
}

type timelineOutput struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Link         string `header:"Link" doc:"rel=\"next\" where there is a next page"`
	Body         *TimelinePage
}

// TimelinePage is one page of the timeline.
type TimelinePage struct {
	ContextVersion int64            `json:"contextVersion" doc:"the company context at the time of the answer" example:"1284"`
	Items          []timeline.Entry `json:"items" nullable:"false" doc:"newest first"`
	NextCursor     string           `json:"nextCursor,omitempty" doc:"where the next page begins; absent on the last"`
}

func (d Deps) listTimeline(ctx context.Context, in *timelineInput) (*timelineOutput, error) {
	if !in.Until.IsZero() && in.Until.Before(in.Since) {
		return nil, fault.Refuse([]fault.Problem{{Pointer: "#/query/until", Detail: "must not be before since"}})
	}
	tag, err := answer(ctx, d, in.IfNoneMatch, func(p projection.Context, _ time.Time, _ string) int64 { return p.ContextVersion })
	if err != nil {
		return nil, err
	}
	out := &timelineOutput{Status: tag.Status, ETag: tag.ETag, CacheControl: tag.CacheControl}
	if tag.Body == nil {
		return out, nil
	}
	keep := func(e timeline.Entry) bool { return in.Kind == "" || string(e.Kind) == in.Kind }
	page, err := web.List(ctx, in.PageQuery, in.query(), keep, in.Since.String(), in.Until.String(), in.Kind)
	if err != nil {
		return nil, err
	}
	out.Link = page.Link
	out.Body = &TimelinePage{ContextVersion: *tag.Body, Items: page.Body.Items, NextCursor: page.Body.NextCursor}
	return out, nil
}

// query is the range of keys that the times ask for: an entry's id begins with its time.
func (in *timelineInput) query() store.Query {
	q := store.Query{Prefix: timeline.Prefix, Desc: true}
	epoch := time.Unix(0, 0) // ids begin here
	if in.Since.After(epoch) {
		q.From = timeline.Key(id.First(in.Since))
	}
	if !in.Until.IsZero() {
		until := in.Until
		if until.Before(epoch) {
			until = epoch
		}
		q.To = timeline.Key(id.Last(until))
	}
	return q
}
