// Package acting decides on the actions that executives ask for, and plans their effects. The route that takes an action and
// the route that approves one both use it.
package acting

import (
	"context"
	"fmt"
	"time"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

// Deps holds what a plan needs of the process.
type Deps struct {
	Connectors      connector.Registry
	Engine          policy.Engine
	Recommendations Recommendations
}

// Recommendations finds a company's recommendations. It returns fault.NotFound for an id that no recommendation has.
type Recommendations interface {
	FindCurrent(ctx context.Context, c store.Company, recommendationID string) (recommendation.Current, error)
}

// Planner plans the actions of one executive.
type Planner struct {
	Deps
	Company   store.Company
	Executive executive.Executive
	By        timeline.Reference // the user whose token asked or for whom the executive asked, or the executive by itself
	ActsFor   bool               // the executive itself asked: for By, if that is a user
	Now       time.Time

	// Approval holds the digest of the action that a person has approved, or "". With it the engine decides under the
	// current policies.
	Approval string
}

// Planned holds an action with its verdict, and the writes that carry it out or tell of its refusal.
type Planned struct {
	State    executive.Progress
	Decision policy.Decision
	Effect   *executive.Effect // nil: the verdict is denied
	Ops      []store.Op        // none for an action that is proposed or pending; the caller records the decision
}

// Plan decides on an action and plans its writes against the stored state. The writes carry the versions that Plan read. If
// their commit returns store.ErrConflict, plan again.
func (p Planner) Plan(ctx context.Context, a executive.Action, in executive.ActionInput) (Planned, error) {
	about, err := p.find(ctx, a, in)
	if err != nil {
		return Planned{}, err
	}
	d, err := p.judge(ctx, Question(p.Executive, a, in, about))
	if err != nil {
		return Planned{}, err
	}
	if d.Verdict == policy.Denied || d.Verdict == policy.NeedsApproval && p.Approval != "" {
		return p.refuse(a, d), nil
	}
	e := effector{Planner: p, about: about, tried: d.DryRun || d.Verdict == policy.NeedsApproval}
	effect, ops, err := e.plan(ctx, a, in, d.ID)
	if err != nil {
		return Planned{}, err
	}
	planned := Planned{State: executive.Done, Decision: d, Effect: &effect}
	switch {
	case d.DryRun:
		planned.State = executive.Proposed
	case d.Verdict == policy.NeedsApproval:
		planned.State = executive.Pending
	default:
		done := p.entry(timeline.ExecutiveActed, p.Executive.Name+" "+effect.Summary, effect.Subject, d)
		planned.Ops = append([]store.Op{done}, ops...)
	}
	return planned, nil
}

// judge asks the engine, with the facts about the executive as of now.
func (p Planner) judge(ctx context.Context, r policy.Request) (policy.Decision, error) {
	owner, err := OwnerState(ctx, p.Company, p.Executive.Owner)
	if err != nil {
		return policy.Decision{}, err
	}
	r.Context.Enabled, r.Context.Certified = owner == user.Active, p.Executive.StateAt(p.Now) == executive.Certified
	r.Approval, r.Current = p.Approval, p.Approval != ""
	d, err := policy.Ask(ctx, p.Engine, p.Company, r, p.Now)
	d.OnBehalfOf = p.behalf()
	d.DryRun = !r.Context.Certified && p.Approval == ""
	return d, err
}

// refuse returns an action that the policies do not permit. In the sandbox no write tells of it.
func (p Planner) refuse(a executive.Action, d policy.Decision) Planned {
	if d.DryRun {
		return Planned{State: executive.Proposed, Decision: d}
	}
	return Planned{State: executive.Denied, Decision: d, Ops: []store.Op{p.Refusal(a, d)}}
}

// Refusal returns the write that tells on the timeline that an action was refused.
func (p Planner) Refusal(a executive.Action, d policy.Decision) store.Op {
	title := fmt.Sprintf("%s was not allowed to %s", p.Executive.Name, a)
	return p.entry(timeline.PolicyDenied, title, timeline.Reference{Type: policy.Entity, ID: d.ID}, d)
}

// Reference names the executive.
func (p Planner) Reference() timeline.Reference {
	return timeline.Reference{Type: executive.Entity, ID: p.Executive.ID}
}

// entry returns the write of the timeline entry that tells what became of an action: done, or refused.
func (p Planner) entry(kind timeline.Kind, title string, subject timeline.Reference, d policy.Decision) store.Op {
	e := timeline.Entry{
		ID: timeline.ID(p.Now, kind, d.ID), At: p.Now, Kind: kind, Title: title, Actor: p.Reference(), Subject: subject,
		OnBehalfOf: p.behalf(),
	}
	return e.Create(p.Company)
}

// behalf names the user for whom the executive acts, or returns nil.
func (p Planner) behalf() *timeline.Reference {
	if !p.ActsFor || p.By.Type != user.Entity {
		return nil
	}
	return &p.By
}
