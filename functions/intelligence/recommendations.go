package intelligence

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"orgops/shared/insight"
	"orgops/shared/store"
	"orgops/shared/web"
)

type recommendationsInput struct {
	web.PageQuery
	web.IfNoneMatch
	State    string `query:"state" enum:"open,active,claimed,succeeded,failed,dismissed" default:"open" doc:"Only in this state; open is active or claimed"`
	Priority string `query:"priority" enum:"P1,P2,P3,P4" doc:"Only of this priority"`
}

type recommendationsOutput struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Link         string `header:"Link" doc:"rel=\"next\" where there is a next page"`
	Body         *RecommendationPage
}

// RecommendationPage is one page of recommendations.
type RecommendationPage struct {
	ContextVersion int64                    `json:"contextVersion" doc:"the company context that they were computed from" example:"1284"`
	Items          []insight.Recommendation `json:"items" doc:"the most pressing first, then by rule, then the longest known" nullable:"false"`
	NextCursor     string                   `json:"nextCursor,omitempty" doc:"where the next page begins; absent on the last"`
}

func (d Deps) listRecommendations(ctx context.Context, in *recommendationsInput) (*recommendationsOutput, error) {
	after, err := in.After(ctx, in.State, in.Priority)
	if err != nil {
		return nil, err
	}
	k, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	out := &recommendationsOutput{Status: http.StatusNotModified, ETag: k.etag, CacheControl: "private, no-cache"}
	if in.Matches(k.etag) {
		return out, nil
	}
	stored, err := storedRecommendations(ctx)
	if err != nil {
		return nil, err
	}
	var matching []insight.Recommendation
	for _, r := range insight.Merge(insight.Recommendations(k.facts, k.asOf, web.CompanyPath(ctx)), stored) {
		if in.wants(r) && r.Place() > after {
			matching = append(matching, r)
		}
	}
	next := ""
	if size := in.Size(); len(matching) > size {
		matching = matching[:size]
		next = matching[size-1].Place() // so that the next page goes on there when some of the list has gone
	}
	page := web.NewPage(ctx, matching, next, in.State, in.Priority)
	out.Status, out.Link = http.StatusOK, page.Link
	out.Body = &RecommendationPage{ContextVersion: k.facts.ContextVersion, Items: page.Body.Items, NextCursor: page.Body.NextCursor}
	return out, nil
}

func (in *recommendationsInput) wants(r insight.Recommendation) bool {
	if in.Priority != "" && string(r.Priority) != in.Priority {
		return false
	}
	if in.State == "open" {
		return r.State == insight.Active || r.State == insight.Claimed
	}
	return string(r.State) == in.State
}

// storedRecommendations is what was done to recommendations. There are no more than rules and subjects.
func storedRecommendations(ctx context.Context) ([]insight.Stored, error) {
	page, err := web.Tenant(ctx).Query(ctx, store.Query{Prefix: insight.RecommendationPrefix})
	if err != nil {
		return nil, store.Fault(err, "")
	}
	stored := make([]insight.Stored, len(page.Items))
	for i, item := range page.Items {
		if err := json.Unmarshal(item.Body, &stored[i]); err != nil {
			return nil, fmt.Errorf("decode %s: %w", item.Key, err)
		}
		stored[i].Version = item.Version
	}
	return stored, nil
}
