package memory

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// GoalRequest says what a goal of the company's own should be.
type GoalRequest struct {
	Title     string        `json:"title" minLength:"1" maxLength:"1024" doc:"title of the goal" example:"MRR"`
	Target    string        `json:"target,omitempty" maxLength:"4096" doc:"the result that reaches the goal, in words"`
	DueAt     *time.Time    `json:"dueAt,omitempty" doc:"when the goal is due"`
	StartedAt *time.Time    `json:"startedAt,omitempty" doc:"when the pace begins, if that was before now"`
	Measure   *goal.Measure `json:"measure,omitempty" doc:"the number that the goal is measured by"`
}

// GoalChange says what to change of a goal of the company's own. What is absent stays.
type GoalChange struct {
	Title    *string      `json:"title,omitempty" minLength:"1" maxLength:"1024" doc:"title of the goal"`
	Target   *string      `json:"target,omitempty" maxLength:"4096" doc:"the result that reaches the goal, in words; an empty text removes it"`
	DueAt    *time.Time   `json:"dueAt,omitempty" doc:"when the goal is due"`
	Progress *float64     `json:"progress,omitempty" minimum:"0" maximum:"1" doc:"share that is done, of a goal without a measure"`
	State    *goal.State  `json:"state,omitempty" enum:"open,closed" doc:"closes the goal, or opens it again"`
	Measure  *ValueChange `json:"measure,omitempty" doc:"what to change of the measure"`
}

// ValueChange says what to change of a measure. What is absent stays.
type ValueChange struct {
	Current   string                  `json:"current,omitempty" maxLength:"32" doc:"the newest value" example:"43100"`
	Target    string                  `json:"target,omitempty" maxLength:"32" doc:"the value that reaches the goal"`
	Start     string                  `json:"start,omitempty" maxLength:"32" doc:"the value at the beginning"`
	Unit      string                  `json:"unit,omitempty" maxLength:"16" doc:"what is counted"`
	Direction goal.Direction          `json:"direction,omitempty" enum:"up,down" doc:"up: the number must grow to the target; down: it must fall to it"`
	Source    web.Change[goal.Source] `json:"source,omitzero" required:"false" doc:"where the syncs read the value; null: the company tells it"`
}

type createGoalInput struct{ Body GoalRequest }

type changeGoalInput struct {
	Goal string `path:"goalId" maxLength:"64" doc:"The goal's id"`
	web.IfMatch
	Body GoalChange
}

type ownGoalOutput struct {
	Status   int
	Location string `header:"Location" doc:"the goal's path, if it was created"`
	ETag     string `header:"ETag"`
	Body     goal.Goal
}

func (d Deps) createGoal(ctx context.Context, in *createGoalInput) (*ownGoalOutput, error) {
	c, now, r := web.Tenant(ctx), d.Now().UTC(), in.Body
	goalID := id.At(now, c.ID(), web.RequestID(ctx))
	if r.Measure != nil {
		if err := fault.Refuse(told(r.Measure.Current, r.Measure.Source)); err != nil {
			return nil, err
		}
		r.Measure.Source = fresh(r.Measure.Source)
		r.Measure = started(r.Measure)
	}
	draft := goal.Draft{ExternalID: goalID, Title: strings.TrimSpace(r.Title), Target: r.Target, DueAt: r.DueAt, StartedAt: r.StartedAt, Measure: r.Measure, State: goal.Open}
	if err := fault.Refuse(draft.Check("")); err != nil {
		return nil, err
	}
	g, _ := goal.Apply(goal.Goal{}, goal.Own, draft, now)
	err := commitOpen(ctx, func() ([]store.Op, error) {
		links, err := d.resource(ctx, goal.Goal{}, g, now)
		if err != nil {
			return nil, err
		}
		ops, err := intake.SaveGoal(ctx, c, goal.Goal{}, g, 0, now)
		return append(ops, links...), err
	})
	if err != nil {
		return nil, store.Fault(err, "")
	}
	out := shownGoal(http.StatusCreated, g, 1)
	out.Location = web.CompanyPath(ctx) + "/goals/" + g.ID
	return out, nil
}

// commitOpen commits the writes of a goal that becomes open, if the company may have one more.
func commitOpen(ctx context.Context, plan func() ([]store.Op, error)) error {
	c := web.Tenant(ctx)
	return c.InTurn(ctx, "goals", func() ([]store.Op, error) {
		if err := goal.Room(ctx, c); err != nil {
			return nil, err
		}
		return plan()
	})
}

func shownGoal(status int, g goal.Goal, version int64) *ownGoalOutput {
	return &ownGoalOutput{Status: status, ETag: web.ETag(revision(version, g.UpdatedAt)), Body: g}
}

func (d Deps) changeGoal(ctx context.Context, in *changeGoalInput) (*ownGoalOutput, error) {
	c, now := web.Tenant(ctx), d.Now().UTC()
	old, version, err := ownGoal(ctx, in.Goal)
	if err != nil {
		return nil, err
	}
	if err := in.Check(revision(version, old.UpdatedAt)); err != nil {
		return nil, err
	}
	draft, err := in.Body.of(old)
	if err != nil {
		return nil, err
	}
	g, changed := goal.Apply(old, goal.Own, draft, now)
	if !changed {
		return shownGoal(http.StatusOK, old, version), nil
	}
	links, err := d.resource(ctx, old, g, now)
	if err != nil {
		return nil, err
	}
	ops, err := intake.SaveGoal(ctx, c, old, g, version, now)
	ops = append(ops, links...)
	switch {
	case err != nil:
	case old.State == goal.Closed && g.State == goal.Open:
		err = commitOpen(ctx, func() ([]store.Op, error) { return ops, nil })
	default:
		err = c.Commit(ctx, ops...)
	}
	return shownGoal(http.StatusOK, g, version+1), in.Overtaken(store.Fault(err, ""))
}

// of returns a goal with the change as a draft.
func (r GoalChange) of(old goal.Goal) (goal.Draft, error) {
	draft := goal.Draft{ExternalID: old.ExternalID, Title: old.Title, Target: old.Target, URL: old.URL, Progress: old.Progress, DueAt: old.DueAt, State: old.State}
	if r.Title != nil {
		draft.Title = strings.TrimSpace(*r.Title)
	}
	if r.Target != nil {
		draft.Target = *r.Target
	}
	if r.State != nil {
		draft.State = *r.State
	}
	draft.DueAt = cmp.Or(r.DueAt, old.DueAt)
	var problems []fault.FieldError
	if m := r.Measure; m != nil {
		var was goal.Measure
		if old.Measure != nil {
			was = *old.Measure
		}
		draft.Measure = &goal.Measure{
			Current: cmp.Or(m.Current, was.Current), Target: cmp.Or(m.Target, was.Target), Start: cmp.Or(m.Start, was.Start),
			Unit: cmp.Or(m.Unit, was.Unit), Direction: cmp.Or(m.Direction, was.Direction), Source: was.Source,
		}
		if m.Source.Sent {
			draft.Measure.Source = fresh(m.Source.To)
		}
		if is := draft.Measure; is.Start == was.Start && is.Target == was.Target && is.Direction == was.Direction {
			is.Start = "" // the stored one stays, also of a goal that began beyond its target
		}
		problems = told(m.Current, draft.Measure.Source)
		draft.Measure = started(draft.Measure)
	}
	problems = append(problems, draft.Check("")...)
	if r.Progress != nil {
		draft.Progress = *r.Progress
		if old.Measure != nil || draft.Measure != nil {
			problems = append(problems, fault.FieldError{Pointer: "/progress", Detail: "follows from the measure; change its current value"})
		}
	}
	return draft, fault.Refuse(problems)
}

func (d Deps) deleteGoal(ctx context.Context, in *goalWriteInput) (*struct{}, error) {
	g, version, err := ownGoal(ctx, in.Goal)
	if err != nil {
		return nil, err
	}
	if err := in.Check(revision(version, g.UpdatedAt)); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	links, err := d.resource(ctx, g, goal.Goal{}, d.Now().UTC())
	if err != nil {
		return nil, err
	}
	err = c.Commit(ctx, append(links, c.Delete(goal.Key(g.ID), goal.Entity, version))...)
	return nil, in.Overtaken(store.Fault(err, "there is no goal with this id"))
}

// ownGoal reads a goal of the company's own.
func ownGoal(ctx context.Context, goalID string) (g goal.Goal, version int64, err error) {
	item, err := get(ctx, goal.Key, goalID, "goal", &g)
	if err == nil && !g.IsOwn() {
		err = fault.Newf(fault.Conflict, "the goal is imported by the integration %s; change it at its provider", g.Provider)
	}
	return g, item.Version, err
}

// GoalHistory lists the values of a goal.
type GoalHistory struct {
	Items []goal.Value `json:"items" nullable:"false" doc:"a value for each day on which it changed, newest first"`
}

func getHistory(ctx context.Context, in *goalInput) (*web.Tagged[GoalHistory], error) {
	g, _, err := reachedGoal(ctx, in.Goal)
	if err != nil {
		return nil, err
	}
	h, _, err := goal.LoadHistory(ctx, web.Tenant(ctx), g.ID)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return web.RespondContent(in.IfNoneMatch, GoalHistory{Items: append([]goal.Value{}, h.Values...)})
}
