// Package intelligence serves what a founder should know and do: the briefing, the recommendations, and the company context
// that both are computed from.
package intelligence

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
	Now    func() time.Time
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Reader: assessment.NewReader(s.Now), Now: s.Now})
}

// Register adds the group's operations to api.
func Register(api huma.API, d Deps) {
	web.Register(api, web.AsTool(operation("/brief", "get-brief", "Get the founder briefing",
		"Sentences that follow from the company's facts. Each sentence links to the route that shows its facts. As Markdown with Accept: text/markdown."), web.Tool{}),
		d.getBrief, func(op huma.Operation) huma.Operation { return briefOperation(api, op) })
	web.Register(api, web.AsTool(operation("/recommendations", "list-recommendations", "List recommendations",
		"Lists open recommendations unless the query names a state: the most urgent first, then by rule, then the oldest."), web.Tool{}), d.listRecommendations)
	const one = "/recommendations/{recommendationId}"
	web.Register(api, operation(one, "get-recommendation", "Get a recommendation",
		"Also shows one whose condition has ended, for 180 days after that."), d.getRecommendation)
	web.Register(api, web.AsTool(decision(one+"/claim", "claim-recommendation", "Claim a recommendation",
		"Says that the caller does what it advises. The claim fails after 14 days, or when the matter becomes more urgent."), web.Tool{}), d.claimRecommendation)
	web.Register(api, web.AsTool(decision(one+"/dismiss", "dismiss-recommendation", "Dismiss a recommendation",
		"Needs a reason. The dismissal ends after 90 days at most, or when the matter becomes more urgent. It never changes a score."), web.Tool{Destructive: true}), d.dismissRecommendation)
	web.Register(api, decision(one+"/reopen", "reopen-recommendation", "Reopen a recommendation",
		"Ends a claim or a dismissal."), d.reopenRecommendation)
	web.Register(api, operation("/context", "get-context", "Get the company context",
		"The facts that Mission Control and Intelligence are computed from, folded from every committed change."), d.getContext)
}

func operation(path, id, summary, description string) huma.Operation {
	return web.AuditedWrites(huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: "/companies/{companyId}/intelligence" + path, Summary: summary,
		Description: description, Tags: []string{"intelligence"}, Security: web.Needs(user.ScopeIntelligenceRead),
	})
}

// decision describes an operation that stores a decision about a recommendation.
func decision(path, id, summary, description string) huma.Operation {
	op := operation(path, id, summary, description)
	op.Method, op.Security = http.MethodPost, web.Needs(user.ScopeIntelligenceWrite)
	return web.Audited(op)
}

// load reads the tenant's facts, and the entity tag of the answers computed from them.
func (d Deps) load(ctx context.Context) (facts assessment.Facts, etag string, err error) {
	facts, err = d.Reader.Read(ctx, web.Tenant(ctx))
	return facts, web.ETag(facts.Tag), store.Fault(err, "")
}

func (d Deps) getContext(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[projection.Context], error) {
	facts, etag, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	return web.Respond(*in, etag, web.Ready(facts.Shown()))
}
