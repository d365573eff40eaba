// Package missioncontrol is the route group of how a company stands: health, readiness, a dashboard and the timeline.
// What it answers is computed from the company's context, one item; the timeline takes one query more.
package missioncontrol

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/insight"
	"orgops/shared/projection"
	"orgops/shared/store"
	"orgops/shared/user"
	"orgops/shared/web"
)

// Deps is what the group works with.
type Deps struct {
	Now func() time.Time
}

// Register mounts the group.
func Register(api huma.API, d Deps) {
	web.Register(api, operation("/health", "get-health", "Get the platform health score",
		"A weighted score over checks of facts, with how much of it is known. Silence counts: a check may fail because nothing happened."),
		func(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[insight.Health], error) {
			return answer(ctx, d, *in, insight.HealthOf)
		})
	web.Register(api, operation("/readiness", "get-readiness", "Get the company's readiness",
		"A ladder of four levels. A level counts when all of its checks pass, and all levels below."),
		func(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[insight.Readiness], error) {
			return answer(ctx, d, *in, insight.ReadinessOf)
		})
	web.Register(api, operation("/dashboard", "get-dashboard", "Get the widget dashboard bundle",
		"Everything at a glance; each widget names the route that it summarises."),
		func(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[insight.Dashboard], error) {
			return answer(ctx, d, *in, insight.DashboardOf)
		})
	web.Register(api, operation("/timeline", "list-timeline", "List the organizational timeline",
		"Newest first. Entries are kept 180 days."), d.listTimeline)
}

func operation(path, id, summary, description string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: "/companies/{id}/mission-control" + path, Summary: summary,
		Description: description, Tags: []string{"mission-control"}, Security: web.Needs(user.ScopeMissionControlRead),
	}
}

// answer computes a body from the tenant's context, unless the caller holds it already.
func answer[T any](ctx context.Context, d Deps, in web.IfNoneMatch, compute func(facts projection.Context, asOf time.Time, path string) T) (*web.Tagged[T], error) {
	facts, _, err := projection.Load(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, store.Fault(err, "")
	}
	asOf := insight.AsOf(d.Now())
	etag := web.ETag(insight.Tag(facts.ContextVersion, asOf))
	if in.Matches(etag) {
		return web.NotModified[T](etag), nil
	}
	return web.WithETag(etag, compute(facts, asOf, web.CompanyPath(ctx))), nil
}
