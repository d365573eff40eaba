package acting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
)

// Ask returns the request for the approval of a planned action that is pending. record is the action's record.
func (p Planner) Ask(planned Planned, record executive.ActionRecord) approval.Approval {
	a := approval.New(planned.Decision, record.Input, planned.Effect.Summary, p.By)
	a.PrincipalName, a.ActionID = p.Executive.Name, record.ID
	return a
}

// CarryOut plans an approved action again, under the current policies. Its writes carry the action out, or tell that the
// policies deny it now; they record the decision and end the action. Their commit fails with store.ErrConflict if the
// policies, the executive or the action have changed since. An action that could not be carried out now is a fault.Conflict.
func (d Deps) CarryOut(ctx context.Context, c store.Company, a approval.Approval, now time.Time) (Planned, error) {
	record, recorded, err := executive.LoadRecord(ctx, c, a.Principal.ID, a.ActionID)
	if err != nil {
		return Planned{}, err
	}
	s, err := executive.Load(ctx, c, a.Principal.ID)
	switch {
	case fault.KindOf(err) == fault.NotFound: // it declares nothing; the policies deny its actions
		s.Executive = executive.Executive{ID: a.Principal.ID, Draft: executive.Draft{Name: a.PrincipalName}}
	case err != nil:
		return Planned{}, err
	}
	var in executive.ActionInput
	if err := json.Unmarshal(a.Payload, &in); err != nil {
		return Planned{}, fmt.Errorf("read the input of the action %s: %w", record.ID, err)
	}
	p := Planner{Deps: d, Company: c, Executive: s.Executive, By: a.RequestedBy, ActsFor: record.ClientID != "", Now: now, Approval: a.Digest}
	if err := p.Replaced(ctx, in, a.RequestedAt); err != nil {
		return Planned{}, err
	}
	if s.Version > 0 && s.StateAt(now) != executive.Certified {
		return Planned{}, fault.Newf(fault.Conflict, "%s is in the sandbox, where its actions take no effect; certify it first", s.Name)
	}
	policies, err := policy.Unchanged(ctx, c)
	if err != nil {
		return Planned{}, err
	}
	planned, err := p.Plan(ctx, record.Action, in)
	if err != nil {
		return planned, impossible(err)
	}
	record = record.End(planned.State, now)
	record.Decision, record.Effect = planned.Decision, planned.Effect
	planned.Ops = append(planned.Ops, policy.Create(c, planned.Decision), record.Replace(c, recorded))
	if s.Version > 0 {
		planned.Ops = append(planned.Ops, c.Unchanged(executive.Key(s.ID), s.Version))
	}
	planned.Ops = append(planned.Ops, policies...)
	return planned, nil
}

// Replaced returns a fault.Conflict if the executive, or the integration that its action is about, was deleted and made again after a time.
// What was asked for before, was about another one of the name.
func (p Planner) Replaced(ctx context.Context, in executive.ActionInput, after time.Time) error {
	if p.Executive.CreatedAt.After(after) {
		return fault.Newf(fault.Conflict, "%s was deleted and configured again since; let it ask again", p.Executive.Name)
	}
	about := in.Provider
	if in.RecommendationID != "" {
		r, err := p.Recommendations.FindCurrent(ctx, p.Company, in.RecommendationID)
		if fault.KindOf(err) == fault.NotFound || err == nil && r.Subject.Type != integration.Entity {
			return nil
		}
		if err != nil {
			return err
		}
		about = r.Subject.ID
	}
	if about == "" {
		return nil
	}
	i, _, err := integration.Load(ctx, p.Company, about)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil
	case err == nil && i.CreatedAt.After(after):
		return i.Newer()
	}
	return err
}

// impossible returns a refusal that is about the action's input as a conflict, because the one who approves did not send the
// input.
func impossible(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.NotFound && f.Kind != fault.Invalid {
		return err
	}
	why := f.Detail
	if len(f.Problems) > 0 {
		why = f.Problems[0].Pointer + " " + f.Problems[0].Detail
	}
	return fault.Newf(fault.Conflict, "the action cannot be carried out now: %s; reject it, or let it expire", why)
}
