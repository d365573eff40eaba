// Package intelligence is the route group of what a founder should know and do: the briefing, recommendations, and the
// company context that both are computed from.
package intelligence

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
	web.Register(api, operation("/brief", "get-brief", "Get the founder briefing",
		"Sentences that follow from the company's facts. Each names where the API shows what it rests on."), d.getBrief)
	web.Register(api, operation("/recommendations", "list-recommendations", "List recommendations",
		"Open ones unless a state is asked for; the most pressing first, then by rule, then the longest known."), d.listRecommendations)
	web.Register(api, operation("/context", "get-context", "Get the company context",
		"The facts that Mission Control and Intelligence are computed from, folded from every committed change."), d.getContext)
}

func operation(path, id, summary, description string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: "/companies/{id}/intelligence" + path, Summary: summary,
		Description: description, Tags: []string{"intelligence"}, Security: web.Needs(user.ScopeIntelligenceRead),
	}
}

// known is the tenant's context with what identifies an answer made from it now.
type known struct {
	facts projection.Context
	asOf  time.Time
	etag  string
}

func (d Deps) load(ctx context.Context) (known, error) {
	facts, _, err := projection.Load(ctx, web.Tenant(ctx))
	if err != nil {
		return known{}, store.Fault(err, "")
	}
	asOf := insight.AsOf(d.Now())
	return known{facts, asOf, web.ETag(insight.Tag(facts.ContextVersion, asOf))}, nil
}

func (d Deps) getContext(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[projection.Context], error) {
	k, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	if in.Matches(k.etag) {
		return web.NotModified[projection.Context](k.etag), nil
	}
	return web.WithETag(k.etag, k.facts), nil
}
