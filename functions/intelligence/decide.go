package intelligence

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/recommendation"
	"orgops/shared/insight/assessment"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// RecommendationInput holds the path parameter of the operations on one recommendation. It is exported because huma ignores
// embedded types that are not exported.
type RecommendationInput struct {
	ID string `path:"recommendationId" maxLength:"64" doc:"The recommendation's id"`
}

type recommendationInput struct {
	RecommendationInput
	web.IfNoneMatch
}

// DecisionInput adds the header that a decision needs.
type DecisionInput struct {
	RecommendationInput
	IfMatch string `header:"If-Match" maxLength:"2048" doc:"The ETag of the recommendation that the decision is based on, or its version in quotes; 412 if it has changed since, 428 without it" example:"\"0\""`
}

// DismissRequest says why a recommendation need not be followed for now.
type DismissRequest struct {
	Reason recommendation.Reason `json:"reason" enum:"not-applicable,accepted-risk,other-method,low-priority,planned,other" doc:"the kind of reason" example:"planned"`
	Text   string                `json:"text" minLength:"10" maxLength:"4096" doc:"the reason in words, 10 to 4,096 characters" example:"We replace this system in May, so its secret goes with it."`
	Until  *time.Time            `json:"until,omitempty" doc:"when the dismissal ends; at most, and by default, in 90 days"`
}

type dismissInput struct {
	DecisionInput
	Body DismissRequest
}

// find returns the recommendation with an id: its condition holds now, or it is stored.
func (d Deps) find(ctx context.Context, recommendationID string) (found, error) {
	f, err := d.Reader.Find(ctx, web.Tenant(ctx), web.CompanyPath(ctx), recommendationID)
	return found{f}, err
}

type found struct{ assessment.Found }

// tagged returns the recommendation with its ETag: the version, which If-Match compares, and the content.
func (f found) tagged(in web.IfNoneMatch) (*web.Tagged[assessment.Recommendation], error) {
	etag, err := web.ETagAt(f.version(), f.Shown)
	if err != nil {
		return nil, err
	}
	return web.Respond(in, etag, web.Ready(f.Shown))
}

func (f found) version() string { return strconv.FormatInt(f.Current.Version, 10) }

func (d Deps) getRecommendation(ctx context.Context, in *recommendationInput) (*web.Tagged[assessment.Recommendation], error) {
	f, err := d.find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return f.tagged(in.IfNoneMatch)
}

func (d Deps) claimRecommendation(ctx context.Context, in *DecisionInput) (*web.Tagged[assessment.Recommendation], error) {
	return d.decide(ctx, *in, func(s recommendation.Stored, by string, now time.Time) (recommendation.Stored, error) {
		return s.Claim(by, now)
	})
}

func (d Deps) reopenRecommendation(ctx context.Context, in *DecisionInput) (*web.Tagged[assessment.Recommendation], error) {
	return d.decide(ctx, *in, func(s recommendation.Stored, by string, now time.Time) (recommendation.Stored, error) {
		return s.Reopen(by, now), nil
	})
}

func (d Deps) dismissRecommendation(ctx context.Context, in *dismissInput) (*web.Tagged[assessment.Recommendation], error) {
	return d.decide(ctx, in.DecisionInput, func(s recommendation.Stored, by string, now time.Time) (recommendation.Stored, error) {
		return recommendation.Dismissal(in.Body).Of(s, by, now)
	})
}

// decide stores a decision of the caller about a recommendation whose condition holds.
func (d Deps) decide(
	ctx context.Context, in DecisionInput, change func(s recommendation.Stored, by string, now time.Time) (recommendation.Stored, error),
) (*web.Tagged[assessment.Recommendation], error) {
	if strings.TrimSpace(in.IfMatch) == "" {
		return nil, fault.New(fault.PreconditionRequired, "send If-Match with the ETag of the recommendation, or its version in quotes")
	}
	f, err := d.find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := (web.IfMatch{IfMatch: in.IfMatch}).Check(f.version()); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	next, op, err := f.Current.Decide(c, func(s recommendation.Stored) (recommendation.Stored, error) {
		return change(s, web.CallerOf(ctx).UserID, d.Now().UTC())
	})
	if err != nil {
		return nil, err
	}
	err = c.Commit(ctx, op)
	if errors.Is(err, store.ErrConflict) {
		return nil, fault.New(fault.Stale, "the recommendation changed since you read it; read it again and retry with its new ETag")
	}
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return found{f.Decided(next)}.tagged(web.IfNoneMatch{})
}
