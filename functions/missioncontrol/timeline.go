package missioncontrol

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

type timelineInput struct {
	web.PageQuery
	web.IfNoneMatch
	Since time.Time `query:"since" doc:"Only entries from this time on (RFC 3339)" example:"2026-01-01T00:00:00Z"`
	Until time.Time `query:"until" doc:"Only entries up to this time (RFC 3339)" example:"2026-02-01T00:00:00Z"`
	Kind  string    `query:"kind" enum:"integration.configured,integration.certified,integration.sandboxed,integration.disabled,memory.synced,goal.updated,goal.alignment.changed,policy.denied,approval.requested,approval.decided,executive.acted,note,brief,client.created,client.rotated,client.deleted,access.given,access.ended" doc:"Only entries of this kind"`

	Actor   string `query:"actor" maxLength:"257" pattern:"^[a-z]+(:.{1,192})?$" patternDescription:"a type, or a type and an id with a colon between them" doc:"Only entries of this actor: its type, or type:id" example:"user:0198c5f2-6e1c-7000-8000-000000000001"`
	Subject string `query:"subject" maxLength:"257" pattern:"^[a-z]+(:.{1,192})?$" patternDescription:"a type, or a type and an id with a colon between them" doc:"Only entries about this resource: its type, or type:id" example:"integration:github"`
}

// TimelinePage holds one page of the timeline.
type TimelinePage struct {
	ContextVersion int64            `json:"contextVersion" doc:"the company context at the time of the answer" example:"1284"`
	Items          []timeline.Entry `json:"items" nullable:"false" doc:"newest first"`
	NextCursor     string           `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last"`
}

func (d Deps) listTimeline(ctx context.Context, in *timelineInput) (*web.TaggedPage[TimelinePage], error) {
	if !in.Until.IsZero() && in.Until.Before(in.Since) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "#/query/until", Detail: "must not be before since"}})
	}
	facts, err := d.Reader.Read(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, store.Fault(err, "")
	}
	page, err := web.List(ctx, in.PageQuery, in.query(), in.keeps, in.Since.String(), in.Until.String(), in.Kind, in.Actor, in.Subject)
	if err != nil {
		return nil, err
	}
	// The tag is that of the content, because an entry may be committed before the context has counted it.
	body := TimelinePage{ContextVersion: facts.ContextVersion, Items: page.Body.Items, NextCursor: page.Body.NextCursor}
	return web.RespondPage(in.IfNoneMatch, body, page.Link)
}

// keeps reports whether an entry passes the filters.
func (in *timelineInput) keeps(e timeline.Entry) bool {
	return (in.Kind == "" || string(e.Kind) == in.Kind) && e.Actor.Is(in.Actor) && e.Subject.Is(in.Subject)
}

// query returns the range of keys between the requested times: an entry's id begins with its time.
func (in *timelineInput) query() store.Query {
	q := store.Query{Prefix: timeline.Prefix, Desc: true}
	epoch := time.Unix(0, 0) // the earliest time of an id
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
