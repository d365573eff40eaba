package acting

import (
	"context"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/syncrequest"
	"orgops/shared/storage/store"
)

// effector plans the effect of one action.
type effector struct {
	Planner
	about Subject
	tried bool // the writes are not committed, so no resource is created
}

// created names a resource that the action creates.
func (e effector) created(kind, id string) timeline.Reference {
	if e.tried {
		id = ""
	}
	return timeline.Reference{Type: kind, ID: id}
}

// plan returns the effect of an action and the writes that bring it about. The writes carry the versions that plan read. If
// their commit returns store.ErrConflict, plan again. decisionID makes the ids of timeline entries.
func (e effector) plan(ctx context.Context, a executive.Action, in executive.ActionInput, decisionID string) (executive.Effect, []store.Op, error) {
	switch a {
	case executive.MemorySync:
		return e.sync(ctx, in)
	case executive.RecommendationClaim, executive.RecommendationDismiss:
		return e.decide(a, in)
	case executive.IntegrationDisable:
		return e.disable(ctx, in)
	case executive.TimelineNote, executive.GoalNote:
		return e.note(a, in, decisionID)
	case executive.DeliveriesRecover:
		return e.recover(ctx, in)
	}
	return executive.Effect{}, nil, fmt.Errorf("no effect is known of the action %s", a)
}

func (e effector) sync(ctx context.Context, in executive.ActionInput) (executive.Effect, []store.Op, error) {
	requests := syncrequest.Planner{Company: e.Company, Connectors: e.Connectors, By: e.By.ID, Now: e.Now}
	run, ops, err := requests.Plan(ctx, syncrequest.Request{Provider: in.Provider, Full: in.Mode == "full"})
	return executive.Effect{
		Summary: fmt.Sprintf("requests a sync of %s (%s)", in.Provider, run.Mode), Subject: e.created(syncrun.Entity, run.ID),
	}, ops, err
}

// decide plans a decision about a recommendation, in the name of the one who asks.
func (e effector) decide(a executive.Action, in executive.ActionInput) (executive.Effect, []store.Op, error) {
	does := "claims"
	change := func(s recommendation.Stored) (recommendation.Stored, error) { return s.Claim(e.By.ID, e.Now) }
	if a == executive.RecommendationDismiss {
		does = "dismisses"
		change = func(s recommendation.Stored) (recommendation.Stored, error) {
			return recommendation.Dismissal{Reason: in.Reason, Text: in.Text, Until: in.Until}.Of(s, e.By.ID, e.Now)
		}
	}
	r := e.about.recommendation
	_, op, err := r.Decide(e.Company, change)
	return executive.Effect{
		Summary: does + " the recommendation: " + r.Title, Subject: timeline.Reference{Type: recommendation.Entity, ID: r.ID},
	}, []store.Op{op}, fault.Within("/input", err)
}

func (e effector) disable(ctx context.Context, in executive.ActionInput) (executive.Effect, []store.Op, error) {
	i, version, err := e.integration(ctx, in.Provider)
	if err != nil {
		return executive.Effect{}, nil, err
	}
	effect := executive.Effect{Summary: "disables " + in.Provider, Subject: timeline.Reference{Type: integration.Entity, ID: in.Provider}}
	if !i.Enabled {
		effect.Summary = in.Provider + " is disabled already"
		return effect, []store.Op{e.Company.Unchanged(integration.Key(in.Provider), version)}, nil
	}
	i.Disable(integration.DisabledManually, e.Now)
	return effect, []store.Op{e.Company.Replace(integration.Key(in.Provider), integration.Entity, version, i)}, nil
}

// note plans a timeline entry, on a goal or on a subject that the executive names.
func (e effector) note(a executive.Action, in executive.ActionInput, decisionID string) (executive.Effect, []store.Op, error) {
	n := timeline.Entry{
		ID: timeline.ID(e.Now, timeline.Note, decisionID), At: e.Now, Kind: timeline.Note, Title: in.Title,
		Actor: e.Reference(), Subject: timeline.Reference{Type: "note", ID: in.Subject}, OnBehalfOf: e.behalf(),
	}
	if a == executive.GoalNote {
		n.Subject = timeline.Reference{Type: goal.Entity, ID: e.about.goal.ID}
	}
	return executive.Effect{Summary: "notes on the timeline: " + in.Title, Subject: n.Subject}, []store.Op{n.Create(e.Company)}, nil
}

func (e effector) recover(ctx context.Context, in executive.ActionInput) (executive.Effect, []store.Op, error) {
	i, version, err := e.integration(ctx, in.Provider)
	if err != nil {
		return executive.Effect{}, nil, err
	}
	if !i.Has(integration.EventDeliver) {
		return executive.Effect{}, nil, fault.Newf(fault.Conflict, "%s receives no events; only webhook integrations have deliveries", in.Provider)
	}
	since, until, err := recovery.Clamp(*in.Since, in.Until, e.Now)
	if err != nil {
		return executive.Effect{}, nil, fault.Within("/input", err)
	}
	r := recovery.Recovery{
		ID: id.New(), Provider: in.Provider, Since: since, Until: until, State: recovery.Requested, RequestedBy: e.By.ID, RequestedAt: e.Now,
	}
	return executive.Effect{
		Summary: fmt.Sprintf("sends the undelivered events of %s again, from %s to %s", in.Provider, since.Format(time.RFC3339), until.Format(time.RFC3339)),
		Subject: e.created(recovery.Entity, r.ID),
	}, []store.Op{r.Request(e.Company, i.Incarnation), e.Company.Unchanged(integration.Key(in.Provider), version)}, nil
}

// integration reads a configured integration that can be used.
func (e effector) integration(ctx context.Context, provider string) (integration.Integration, int64, error) {
	if _, err := e.Connectors.Find(ctx, e.Company, provider); err != nil {
		return integration.Integration{}, 0, err
	}
	i, version, err := integration.Load(ctx, e.Company, provider)
	if err != nil {
		return i, 0, err
	}
	return i, version, i.Usable()
}
