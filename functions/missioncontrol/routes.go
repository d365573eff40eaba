// Package missioncontrol serves the state of a company: health, readiness, a dashboard and the timeline. It computes its
// answers from the company's context, which is one item; the timeline takes one more query.
package missioncontrol

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/user"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Deps holds what the group works with.
type Deps struct {
	Reader *assessment.Reader
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Reader: assessment.NewReader(s.Now)})
}

// Register adds the group's operations to api.
func Register(api huma.API, d Deps) {
	web.Register(api, web.AsTool(operation("/health", "get-health", "Get the platform health score",
		"The score is the weighted mean of the known checks; the coverage is the share of the weight that is known. A check may also fail because nothing has happened."), web.Tool{}),
		func(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[assessment.HealthScore], error) {
			return answer(ctx, d, *in, assessment.HealthOf)
		})
	web.Register(api, web.AsTool(operation("/readiness", "get-readiness", "Get the company's readiness",
		"A ladder of four levels. The company reaches a level when all checks of this level and of the levels below pass."), web.Tool{}),
		func(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[assessment.Readiness], error) {
			return answer(ctx, d, *in, assessment.ReadinessOf)
		})
	web.Register(api, operation("/dashboard", "get-dashboard", "Get the widget dashboard bundle",
		"All widgets in one answer; each names the route that it summarises."),
		func(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[assessment.Dashboard], error) {
			return answer(ctx, d, *in, assessment.DashboardOf)
		})
	web.Register(api, web.AsTool(operation("/timeline", "list-timeline", "List the organizational timeline",
		"Newest first. Entries are kept for 180 days."), web.Tool{}), d.listTimeline)
}

func operation(path, id, summary, description string) huma.Operation {
	return web.AuditedWrites(huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: "/companies/{companyId}/mission-control" + path, Summary: summary,
		Description: description, Tags: []string{"mission-control"}, Security: web.Needs(user.ScopeMissionControlRead),
	})
}

// answer computes a body from the tenant's facts, unless If-None-Match says that the caller has the current body.
func answer[T any](ctx context.Context, d Deps, in web.IfNoneMatch, compute func(facts projection.Context, asOf time.Time, path string) T) (*web.Tagged[T], error) {
	facts, err := d.Reader.Read(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return web.Respond(in, web.ETag(facts.Tag), func() (T, error) {
		return compute(facts.Context, facts.AsOf, web.CompanyPath(ctx)), nil
	})
}
