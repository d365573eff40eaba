package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

const noExplanation = "there is no explanation of a goal with this id"

type explanationBody struct {
	ETag string `header:"ETag"`
	Body goal.Explanation
}

// ExplainRequest says why a goal may be off its pace.
type ExplainRequest struct {
	Text  string     `json:"text" minLength:"10" maxLength:"4096" doc:"the reason in words, 10 to 4,096 characters" example:"The supplier delivers in May; the date follows then."`
	Until *time.Time `json:"until,omitempty" doc:"when the explanation ends; at most, and by default, in 90 days"`
}

type explainInput struct {
	Goal string `path:"goalId" maxLength:"64" doc:"The goal's id"`
	web.Creation
	Body ExplainRequest
}

// goalWriteInput names a goal, and which version of it, or of its explanation, a write is based on.
type goalWriteInput struct {
	Goal string `path:"goalId" maxLength:"64" doc:"The goal's id"`
	web.IfMatch
}

// revision identifies one version of a goal or of an explanation. It includes the time of its last change, because what is created after
// a deletion counts its versions from 1 again.
func revision(version int64, at time.Time) string {
	return fmt.Sprintf("%d-%x", version, at.UnixMilli())
}

func (d Deps) explainGoal(ctx context.Context, in *explainInput) (*explanationBody, error) {
	now := d.Now().UTC()
	until, err := in.Body.end(now)
	if err != nil {
		return nil, err
	}
	var g goal.Goal
	if _, err := get(ctx, goal.Key, in.Goal, "goal", &g); err != nil {
		return nil, err
	}
	c, key := web.Tenant(ctx), goal.ExplanationKey(g.ID)
	var was goal.Explanation
	item, err := c.Get(ctx, key, &was)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, store.Fault(err, "")
	}
	current := ""
	if now.Before(was.Until) {
		current = revision(item.Version, was.At)
	}
	if err := in.Check(current); err != nil {
		return nil, err
	}
	e := goal.Explanation{GoalID: g.ID, Text: in.Body.Text, By: web.CallerOf(ctx).UserID, At: now, Until: until}
	err = c.Commit(ctx, c.Save(key, goal.ExplanationEntity, item.Version, e).Until(until))
	return &explanationBody{ETag: web.ETag(revision(item.Version+1, e.At)), Body: e}, in.Overtaken(store.Fault(err, ""))
}

// end returns when an explanation ends.
func (r ExplainRequest) end(now time.Time) (time.Time, error) {
	latest := now.Add(goal.MaxExplanation)
	if utf8.RuneCountInString(strings.TrimSpace(r.Text)) < 10 {
		return latest, fault.Refuse([]fault.FieldError{{Pointer: "/text", Detail: "needs at least 10 characters besides space at its ends"}})
	}
	if r.Until == nil {
		return latest, nil
	}
	if !r.Until.After(now) || r.Until.After(latest) {
		return latest, fault.Refuse([]fault.FieldError{{Pointer: "/until", Detail: "must lie in the future, at most 90 days from now"}})
	}
	return r.Until.UTC(), nil
}

func (d Deps) getExplanation(ctx context.Context, in *goalInput) (*web.Tagged[goal.Explanation], error) {
	var e goal.Explanation
	version, err := d.explanation(ctx, in.Goal, &e)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, web.ETag(revision(version, e.At)), web.Ready(e))
}

// explanation reads the explanation of a goal that has not ended.
func (d Deps) explanation(ctx context.Context, goalID string, e *goal.Explanation) (version int64, err error) {
	item, err := get(ctx, goal.ExplanationKey, goalID, "goal", e)
	if fault.KindOf(err) == fault.NotFound || err == nil && !d.Now().Before(e.Until) {
		return 0, fault.New(fault.NotFound, noExplanation)
	}
	return item.Version, err
}

func (d Deps) deleteExplanation(ctx context.Context, in *goalWriteInput) (*struct{}, error) {
	var e goal.Explanation
	version, err := d.explanation(ctx, in.Goal, &e)
	if err != nil {
		return nil, err
	}
	if err := in.Check(revision(version, e.At)); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	err = c.Commit(ctx, c.Delete(goal.ExplanationKey(e.GoalID), goal.ExplanationEntity, version))
	return nil, in.Overtaken(store.Fault(err, noExplanation))
}
