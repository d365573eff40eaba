// Package intake turns the actions of a connector into writes. Each action gets a verdict; a permitted action becomes the
// ops that carry it out. Webhooks and syncs both use it.
package intake

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

// Outcome says what an action changes.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged" // no event, and no write but for a later time of the provider's
	Refused   Outcome = "refused"   // the verdict is denied
	Pending   Outcome = "pending"   // the verdict is needs-approval

	older Outcome = "older" // Plan returns Unchanged: what is stored is newer
)

// Planned holds an action, its verdict and the ops that carry it out.
type Planned struct {
	Action   connector.Action
	Decision policy.Decision
	Outcome  Outcome
	Ops      []store.Op // the effect or the request for an approval; the caller records the decision

	ApprovalID string // of the approval that stands for the action, or ""
	Older      bool   // the action is unchanged because what is stored is newer
}

// Acts reports whether the ops carry the action out.
func (p Planned) Acts() bool {
	return p.Outcome == Created || p.Outcome == Updated || p.Outcome == Removed
}

// Planner plans the actions of one integration.
type Planner struct {
	Company     store.Company
	Integration integration.Integration
	Engine      policy.Engine
	Now         time.Time
	DryRun      bool // the caller does not commit the plan; every decision gets DryRun too
	// Presume plans each item as a new one, without a look at the store. The commit of an item that exists returns ErrConflict.
	Presume bool

	// Approval holds the digest of the action that a person has approved, or "". With it the engine decides under the
	// current policies.
	Approval string
}

// MaxOpsPerAction limits the ops of a planned action.
const MaxOpsPerAction = 3

// One commit holds all actions of an arrival, their decisions and the receipt. This constant compiles only if they fit.
const _ = uint(store.MaxOps - 2 - connector.MaxActions*MaxOpsPerAction)

// Key returns the key of the item that the effect of an action depends on, or "" for an action without such an item.
func (p *Planner) Key(a connector.Action) string {
	provider, incarnation := p.Integration.Provider, p.Integration.Incarnation
	switch {
	case a.Memory != nil:
		return memory.Key(memory.IDOf(provider, incarnation, a.Memory.ExternalID))
	case a.Goal != nil:
		return goal.Key(goal.IDOf(provider, incarnation, a.Goal.ExternalID))
	case a.Reading != nil:
		return goal.Key(a.Reading.Goal)
	case a.Note != nil && a.Note.Once != "":
		if p.Integration.Kind == github {
			incarnation = ""
		}
		return "NOTED#" + provider + "#" + id.OfIncarnation("note", provider, incarnation, a.Note.Once)
	}
	return ""
}

// github is the kind whose notes are made once for all integrations of a name: each sync brings the former releases again, and GitHub's ids
// are those of no other sender.
const github = "github"

// Plan decides on an action and plans its writes against the stored state. The ops carry the versions that Plan read. If
// their commit returns ErrConflict, plan again.
func (p *Planner) Plan(ctx context.Context, a connector.Action) (Planned, error) {
	if a.Gone {
		return p.gone(ctx, a)
	}
	payload := p.exactly(a)
	d, err := p.decide(ctx, a, payload)
	if err != nil {
		return Planned{}, err
	}
	planned := Planned{Action: a, Decision: d, Outcome: Refused}
	switch {
	case d.Verdict == policy.Permitted:
		planned.Outcome, planned.Ops, err = p.effect(ctx, a, d)
		if planned.Outcome == older {
			planned.Outcome, planned.Older = Unchanged, true
		}
	case d.Verdict == policy.NeedsApproval && p.Approval == "":
		err = p.ask(ctx, &planned, payload)
	default:
		planned.Ops = []store.Op{p.refusal(d)}
	}
	return planned, err
}

// effect plans the writes that carry an action out.
func (p *Planner) effect(ctx context.Context, a connector.Action, d policy.Decision) (Outcome, []store.Op, error) {
	switch {
	case a.Memory != nil:
		return p.memory(ctx, memory.Key(d.Resource.ID), *a.Memory)
	case a.Goal != nil:
		return p.goal(ctx, goal.Key(d.Resource.ID), *a.Goal)
	case a.Reading != nil:
		return p.reading(ctx, p.Key(a), *a.Reading)
	case a.Note != nil:
		return p.note(ctx, p.Key(a), *a.Note, d)
	}
	return "", nil, fmt.Errorf("action %s carries no draft", a.Port)
}

// decide asks the engine for a verdict. An error of the engine counts as denied, unless ctx has ended.
func (p *Planner) decide(ctx context.Context, a connector.Action, payload exact) (policy.Decision, error) {
	return p.judge(ctx, a, payload, string(a.Port))
}

// judge asks for a verdict under the name of an action, which needs the permission of the action's port.
func (p *Planner) judge(ctx context.Context, a connector.Action, payload exact, name string) (policy.Decision, error) {
	r := p.request(name, a.Port)
	r.Resource, r.Item, r.Payload = p.resource(a), p.item(a), payload
	d, err := policy.Ask(ctx, p.Engine, p.Company, r, p.Now)
	d.DryRun = p.DryRun
	return d, err
}

// request makes the request for a verdict on an action of the integration, without what the action is about.
func (p *Planner) request(name string, port integration.Port) policy.Request {
	permissions := make([]string, len(p.Integration.Permissions))
	for i, port := range p.Integration.Permissions {
		permissions[i] = string(port)
	}
	return policy.Request{
		Principal: timeline.Reference{Type: "integration", ID: p.Integration.Provider},
		Action:    name,
		Context: policy.Context{
			Kind: p.Integration.Kind, Permissions: permissions, Port: string(port), Enabled: p.Integration.Enabled,
			Certified: p.Integration.IsCertified(p.Now),
		},
		Approval: p.Approval, Current: p.Approval != "",
	}
}

func (p *Planner) resource(a connector.Action) timeline.Reference {
	switch {
	case a.Memory != nil:
		return timeline.Reference{Type: memory.Entity, ID: memory.IDOf(p.Integration.Provider, p.Integration.Incarnation, a.Memory.ExternalID)}
	case a.Goal != nil:
		return timeline.Reference{Type: goal.Entity, ID: goal.IDOf(p.Integration.Provider, p.Integration.Incarnation, a.Goal.ExternalID)}
	}
	if a.Reading != nil {
		return timeline.Reference{Type: goal.Entity, ID: a.Reading.Goal}
	}
	return timeline.Reference{Type: timeline.Entity, ID: "new"}
}

func (p *Planner) memory(ctx context.Context, key string, d memory.Draft) (Outcome, []store.Op, error) {
	d.URL, d.Incarnation, d.UpdatedAt = link(d.URL), p.Integration.Incarnation, p.past(d.UpdatedAt)
	var old memory.Memory
	version, err := p.load(ctx, key, &old)
	if err != nil {
		return "", nil, err
	}
	m, changed := memory.Apply(old, p.Integration.Provider, d, p.Now)
	op := p.Company.Save(key, memory.Entity, version, m)
	switch {
	case changed:
		return outcome(version), []store.Op{op}, nil
	case m.SourceUpdatedAt != old.SourceUpdatedAt:
		return Unchanged, []store.Op{op.Quietly()}, nil
	}
	return unchanged(d.UpdatedAt, old.SourceUpdatedAt), nil, nil
}

func (p *Planner) goal(ctx context.Context, key string, d goal.Draft) (Outcome, []store.Op, error) {
	d.URL, d.Incarnation, d.UpdatedAt = link(d.URL), p.Integration.Incarnation, p.past(d.UpdatedAt)
	var old goal.Goal
	version, err := p.load(ctx, key, &old)
	if err != nil {
		return "", nil, err
	}
	g, changed := goal.Apply(old, p.Integration.Provider, d, p.Now)
	switch {
	case changed:
		ops, err := SaveGoal(ctx, p.Company, old, g, version, p.Now)
		return outcome(version), ops, err
	case g.SourceUpdatedAt != old.SourceUpdatedAt:
		op := p.Company.Save(key, goal.Entity, version, g).Quietly()
		return Unchanged, append(Review(p.Company, g, version+1, p.Now), op), nil
	}
	return unchanged(d.UpdatedAt, old.SourceUpdatedAt), nil, nil
}

// reading plans to move a goal of the company's own to a number that a sync has read. A goal that is gone, or takes its number from elsewhere
// by now, stays.
func (p *Planner) reading(ctx context.Context, key string, r goal.Reading) (Outcome, []store.Op, error) {
	var old goal.Goal
	version, err := p.load(ctx, key, &old)
	if err != nil {
		return "", nil, err
	}
	g, changed := goal.Read(old, r, p.Now)
	if !changed || r.Source.Provider != p.Integration.Provider {
		return Unchanged, nil, nil
	}
	ops, err := SaveGoal(ctx, p.Company, old, g, version, p.Now)
	return Updated, ops, err
}

// SaveGoal returns the writes of a goal over a version of old: the goal, its history and the timer of its next review.
func SaveGoal(ctx context.Context, c store.Company, old, g goal.Goal, version int64, now time.Time) ([]store.Op, error) {
	ops, err := goal.Record(ctx, c, old, g, now)
	ops = append(ops, c.Save(goal.Key(g.ID), goal.Entity, version, g))
	return append(ops, Review(c, g, version+1, now)...), err
}

// ReviewTimer names the kind of timer that reviews a goal when time alone would change its alignment.
const ReviewTimer = "goal-review"

// Review returns the ops that set a goal's review timer, or none if time alone never changes its alignment. The caller
// writes the goal as version. The version is part of the timer's name, so two writes never share a timer.
func Review(c store.Company, g goal.Goal, version int64, now time.Time) []store.Op {
	at, ok := goal.NextReview(g, now)
	if !ok {
		return nil
	}
	return []store.Op{c.Timer(at, ReviewTimer, fmt.Sprintf("%s@%d", g.ID, version))}
}

// WorkReview marks, in the place of the version, the timers that review a goal because of the work on it.
const WorkReview = "work"

// ReviewWork returns the op that sets a timer to review a goal when the work on it has changed or becomes stale.
func ReviewWork(c store.Company, goalID string, at time.Time) store.Op {
	return c.Timer(at, ReviewTimer, goalID+"@"+WorkReview)
}

// note plans a timeline entry. What an incarnation notes once leaves a mark, which stays: neither the receipt of its arrival nor the
// entry itself is kept for all time.
func (p *Planner) note(ctx context.Context, mark string, n connector.NoteDraft, d policy.Decision) (Outcome, []store.Op, error) {
	e := p.entry(timeline.Note, n.Title, timeline.Reference{Type: "note", ID: n.Subject}, d)
	e.Details = n.Details
	if n.At != nil && n.At.Before(e.At) {
		e.At = n.At.UTC()
		e.ID = timeline.ID(e.At, e.Kind, d.ID)
	}
	ops := []store.Op{e.Create(p.Company)}
	if n.Once == "" {
		return Created, ops, nil
	}
	version, err := p.load(ctx, mark, nil)
	if err != nil {
		return "", nil, err
	}
	if version > 0 {
		return Unchanged, nil, nil
	}
	return Created, append(ops, p.Company.Create(mark, "noted", struct{}{}).Quietly()), nil
}

// refusal returns the op that notes a refused action on the timeline.
func (p *Planner) refusal(d policy.Decision) store.Op {
	title := fmt.Sprintf("%s was not allowed to %s", d.Principal.ID, d.Action)
	e := p.entry(timeline.PolicyDenied, title, timeline.Reference{Type: policy.Entity, ID: d.ID}, d)
	return e.Create(p.Company)
}

// entry makes the timeline entry of a decision. The entry's id follows from the decision's id, so a commit that is repeated
// after an unknown outcome writes the entry once.
func (p *Planner) entry(k timeline.Kind, title string, subject timeline.Reference, d policy.Decision) timeline.Entry {
	return timeline.Entry{
		ID: timeline.ID(d.At, k, d.ID), At: d.At, Kind: k, Title: title, Actor: d.Principal, Subject: subject,
	}
}

// load reads an item that may be absent. If it is absent, into stays unchanged and the version is 0.
func (p *Planner) load(ctx context.Context, key string, into any) (int64, error) {
	if p.Presume {
		return 0, nil
	}
	item, err := p.Company.Get(ctx, key, into)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return item.Version, store.Fault(err, "")
}

// maxAhead is how far a provider's clock may be ahead.
const maxAhead = 5 * time.Minute

// past returns the provider's time of a change, or nil for one in the future. That is no time of a change: the provider's clock is
// wrong, or the item is planned. Stored, it would make every later state look older.
func (p *Planner) past(changed *time.Time) *time.Time {
	if changed != nil && changed.After(p.Now.Add(maxAhead)) {
		return nil
	}
	return changed
}

// unchanged returns the outcome of a draft that changes nothing, by the provider's times of the draft and of what is stored.
func unchanged(draft, stored *time.Time) Outcome {
	if draft != nil && stored != nil && draft.Before(*stored) {
		return older
	}
	return Unchanged
}

func outcome(version int64) Outcome {
	if version == 0 {
		return Created
	}
	return Updated
}

// link returns raw if it is an http or https URL with a host, and otherwise "". A client shows the URL as a link. A URL of
// another scheme, such as javascript, could run code in the client.
func link(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return raw
}
