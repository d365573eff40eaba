package acting

import (
	"context"
	"errors"

	"orgops/shared/base/id"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// OwnerState returns the state of an executive's owner, or "" if there is no such user.
func OwnerState(ctx context.Context, c store.Company, userID string) (user.State, error) {
	if !id.Valid(userID) {
		return "", nil
	}
	var u user.User
	_, err := c.Get(ctx, user.Key(userID), &u)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return u.State, store.Fault(err, "")
}

// Subject holds the item that an action is about, if it is a goal or a recommendation.
type Subject struct {
	goal           *goal.Goal
	recommendation *recommendation.Current
}

// find reads the subject of an action.
func (p Planner) find(ctx context.Context, a executive.Action, in executive.ActionInput) (Subject, error) {
	switch a {
	case executive.GoalNote:
		const missing = "there is no goal with this id"
		if !id.Valid(in.GoalID) {
			return Subject{}, store.Fault(store.ErrNotFound, missing)
		}
		var g goal.Goal
		_, err := p.Company.Get(ctx, goal.Key(in.GoalID), &g)
		return Subject{goal: &g}, store.Fault(err, missing)
	case executive.RecommendationClaim, executive.RecommendationDismiss:
		r, err := p.Recommendations.FindCurrent(ctx, p.Company, in.RecommendationID)
		return Subject{recommendation: &r}, err
	}
	return Subject{}, nil
}

// Sample returns an input of an action, and the subject of it, to ask the policies about.
func Sample(a executive.Action) (executive.ActionInput, Subject) {
	const text = "A sample"
	switch a {
	case executive.TimelineNote:
		return executive.ActionInput{Title: text}, Subject{}
	case executive.GoalNote:
		g := goal.Goal{ID: goal.IDOf("sample", "", "sample"), Provider: "sample", ExternalID: "sample", Title: text, State: goal.Open}
		return executive.ActionInput{GoalID: g.ID, Title: text}, Subject{goal: &g}
	case executive.RecommendationClaim, executive.RecommendationDismiss:
		const rule = "connect-source"
		r := recommendation.Current{Priority: recommendation.P1, Stored: recommendation.Stored{
			ID: recommendation.ID(rule, timeline.Reference{Type: "company"}), Rule: rule, Title: text,
		}}
		return executive.ActionInput{RecommendationID: r.ID}, Subject{recommendation: &r}
	}
	return executive.ActionInput{Provider: "sample"}, Subject{}
}

// Question asks the policy engine whether an executive may do something.
func Question(e executive.Executive, a executive.Action, in executive.ActionInput, about Subject) policy.Request {
	r := policy.Request{
		Principal: timeline.Reference{Type: executive.Entity, ID: e.ID}, Action: string(a),
		Context: policy.Context{Kind: e.Role, Port: string(a), Permissions: make([]string, 0, len(e.Actions))},
		Payload: in,
	}
	for _, declared := range e.Actions {
		r.Context.Permissions = append(r.Context.Permissions, string(declared))
	}
	switch g, advised := about.goal, about.recommendation; {
	case a == executive.TimelineNote:
		r.Resource = timeline.Reference{Type: timeline.Entity, ID: "new"}
		r.Item = policy.Item{Subject: in.Subject, Title: in.Title}
	case g != nil:
		r.Resource = timeline.Reference{Type: goal.Entity, ID: g.ID}
		r.Item = policy.Item{
			Provider: g.Provider, ExternalID: g.ExternalID, Title: g.Title, State: string(g.State), Percent: int(g.Progress * 100),
		}
	case advised != nil:
		r.Resource = timeline.Reference{Type: recommendation.Entity, ID: advised.ID}
		r.Item = policy.Item{Kind: advised.Rule, Title: advised.Title, Priority: string(advised.Priority)}
	default:
		r.Resource = timeline.Reference{Type: integration.Entity, ID: in.Provider}
		r.Item = policy.Item{Provider: in.Provider, Title: in.Provider}
	}
	return r
}
