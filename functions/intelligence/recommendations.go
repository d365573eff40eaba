package intelligence

import (
	"context"

	"orgops/shared/domain/recommendation"
	"orgops/shared/insight/assessment"
	"orgops/shared/web"
)

type recommendationsInput struct {
	web.PageQuery
	web.IfNoneMatch
	State    string `query:"state" enum:"open,active,claimed,succeeded,failed,dismissed" default:"open" doc:"Only in this state; open is active or claimed"`
	Priority string `query:"priority" enum:"P1,P2,P3,P4" doc:"Only of this priority"`
}

// RecommendationPage holds one page of recommendations.
type RecommendationPage struct {
	ContextVersion int64                       `json:"contextVersion" doc:"the company context that the page was computed from" example:"1284"`
	Items          []assessment.Recommendation `json:"items" doc:"the most urgent first, then by rule, then the oldest" nullable:"false"`
	NextCursor     string                      `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last"`
}

func (d Deps) listRecommendations(ctx context.Context, in *recommendationsInput) (*web.TaggedPage[RecommendationPage], error) {
	after, err := in.After(ctx, in.State, in.Priority)
	if err != nil {
		return nil, err
	}
	facts, _, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := assessment.StoredRecommendations(ctx, web.Tenant(ctx), recommendation.Prefix)
	if err != nil {
		return nil, err
	}
	var matching []assessment.Recommendation
	for _, r := range assessment.RecommendationsWith(facts.Context, facts.AsOf, web.CompanyPath(ctx), stored) {
		if in.wants(r) && r.Place() > after {
			matching = append(matching, r)
		}
	}
	next := ""
	if size := in.Size(); len(matching) > size {
		matching = matching[:size]
		next = matching[size-1].Place() // the next page continues after this place, even if listed items are gone by then
	}
	page := web.NewPage(ctx, matching, next, in.State, in.Priority)
	// The tag is that of the content, because a stored state changes without the context.
	body := RecommendationPage{ContextVersion: facts.ContextVersion, Items: page.Body.Items, NextCursor: page.Body.NextCursor}
	return web.RespondPage(in.IfNoneMatch, body, page.Link)
}

func (in *recommendationsInput) wants(r assessment.Recommendation) bool {
	if in.Priority != "" && string(r.Priority) != in.Priority {
		return false
	}
	if in.State == "open" {
		return r.Open()
	}
	return string(r.State) == in.State
}
