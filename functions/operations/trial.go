package operations

import (
	"context"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/disabling"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/provider/acting"
	"orgops/shared/provider/egress"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// PolicyTrial describes an action to decide on without carrying it out.
type PolicyTrial struct {
	Principal TrialPrincipal     `json:"principal" doc:"who would ask"`
	Action    string             `json:"action" enum:"memory.upsert,memory.delete,goal.update,goal.delete,timeline.note,sync.fetch,sync.remove,goal.note,memory.sync,recommendation.claim,recommendation.dismiss,integration.disable,deliveries.recover,endpoint.disable,policies.replace" doc:"the action that would be asked for" example:"goal.update"`
	Resource  TrialResource      `json:"resource" doc:"what the action would store"`
	Context   TrialContext       `json:"context,omitempty" doc:"facts to assume"`
	Policies  []policy.Statement `json:"policies,omitempty" nullable:"false" maxItems:"100" doc:"company policies to try; without them, the stored ones decide"`
}

// TrialPrincipal names who would ask: an integration, an executive, the service, or a user.
type TrialPrincipal struct {
	Type string `json:"type" enum:"integration,executive,service,user" doc:"integration for what a connector does, executive for what an executive does, service for endpoint.disable, user for policies.replace" example:"integration"`
	ID   string `json:"id" maxLength:"64" doc:"the provider's name; of an executive or a user, its id; of the service, orgops" example:"github"`
}

// TrialResource holds what an action would store, as far as policies may read it.
type TrialResource struct {
	Type       string `json:"type" enum:"memory,goal,timeline,host,removal,integration,recommendation,policies" doc:"memory for memory.upsert and memory.delete; goal for the actions on goals; timeline for timeline.note; host for sync.fetch; removal for sync.remove; recommendation for the actions on recommendations; policies for policies.replace; integration for the others" example:"goal"`
	ID         string `json:"id,omitempty" maxLength:"253" doc:"its id; of a host or an integration, its name" example:"api.github.com"`
	ExternalID string `json:"externalId,omitempty" maxLength:"512" doc:"of a memory or a goal" example:"octo/app/milestones/1"`
	Provider   string `json:"provider,omitempty" maxLength:"64" doc:"of a goal on which an executive notes: where the goal comes from" example:"github"`
	Kind       string `json:"kind,omitempty" maxLength:"64" doc:"of a memory; of a recommendation, its rule" example:"issue"`
	Priority   string `json:"priority,omitempty" enum:"P1,P2,P3,P4" doc:"of a recommendation" example:"P1"`
	Title      string `json:"title,omitempty" maxLength:"1024" doc:"its title" example:"Ship the beta"`
	State      string `json:"state,omitempty" enum:"open,closed" doc:"of a goal" example:"closed"`
	Percent    int    `json:"percent,omitempty" minimum:"0" maximum:"100" format:"int32" doc:"of a goal's progress" example:"40"`
	Subject    string `json:"subject,omitempty" maxLength:"512" doc:"of a note"`
	Count      int    `json:"count,omitempty" minimum:"0" maximum:"1000000" format:"int32" doc:"of a removal: the items that would be removed" example:"30"`
	Total      int    `json:"total,omitempty" minimum:"0" maximum:"1000000" format:"int32" doc:"of a removal: the items that are stored" example:"40"`
	Own        bool   `json:"own,omitempty" doc:"of a host: whether a manifest of the company's own leads there"`
	Loosens    bool   `json:"loosens,omitempty" doc:"of policies: whether the replacement loosens them"`
	Reason     string `json:"reason,omitempty" enum:"gone,failing" doc:"of an endpoint that would be disabled: it answered 410, or nothing has reached it for five days" example:"failing"`
}

// TrialContext holds facts that a trial assumes instead of the own ones of the integration or the executive.
type TrialContext struct {
	Permissions *[]string `json:"permissions,omitempty" maxItems:"20" doc:"the integration's permissions, or the actions that the executive declares"`
	Enabled     *bool     `json:"enabled,omitempty" doc:"whether the integration is enabled, or the owner of the executive is an active user"`
	Certified   *bool     `json:"certified,omitempty" doc:"whether it is out of the sandbox"`
	Approved    bool      `json:"approved,omitempty" doc:"decide as if a person had approved the action"`
}

type trialInput struct{ Body PolicyTrial }

type decisionOutput struct{ Body policy.Decision }

// testPolicies decides on an action and changes nothing.
func (d Deps) testPolicies(ctx context.Context, in *trialInput) (*decisionOutput, error) {
	kind := trialKindOf(in.Body.Action)
	if want := kind.resource; in.Body.Resource.Type != want {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/resource/type", Detail: "the resource of " + in.Body.Action + " is of type " + want}})
	}
	if want := kind.principals; !slices.Contains(want, in.Body.Principal.Type) {
		detail := "the principal of " + in.Body.Action + " is of type " + strings.Join(want, " or ")
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/principal/type", Detail: detail}})
	}
	c := web.Tenant(ctx)
	set, err := d.trialSet(ctx, c, in.Body.Policies)
	if err != nil {
		return nil, err
	}
	r, err := d.trialRequest(ctx, c, in.Body)
	if err != nil {
		return nil, err
	}
	if in.Body.Context.Approved {
		if r.Approval, err = policyengine.Digest(c.ID(), r); err != nil {
			return nil, err
		}
	}
	decision, err := set.Decide(c.ID(), r, d.Now().UTC())
	decision.DryRun = true
	return &decisionOutput{decision}, err
}

// trialSet compiles the policies of the trial, or the stored ones if it has none. An older release may have stored policies that
// do not compile any more.
func (d Deps) trialSet(ctx context.Context, c store.Company, own []policy.Statement) (*policyengine.Set, error) {
	if own != nil {
		return d.compile("/policies", own)
	}
	stored, _, err := policy.Load(ctx, c)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	set, err := policyengine.Compile(stored.Policies)
	if err != nil {
		detail := "the stored policies cannot be evaluated, so every action is denied; get-policies says what is wrong with them"
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/policies", Detail: detail}})
	}
	return set, nil
}

// trialRequest makes the request that a trial describes.
func (d Deps) trialRequest(ctx context.Context, c store.Company, t PolicyTrial) (policy.Request, error) {
	if t.Action == policy.EndpointDisable {
		disables := disabling.Case{Company: c, Integration: integration.Integration{Provider: t.Resource.ID}, Reason: t.Resource.Reason}
		return disables.Question(), nil
	}
	if t.Action == policy.PoliciesReplace {
		by, _, err := company.GetUser(ctx, c, t.Principal.ID)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return policy.Request{}, err
		}
		by.ID = t.Principal.ID
		return replacementBy(by, t.Resource.Loosens), nil
	}
	facts, err := d.trialFacts(ctx, c, t)
	if err != nil {
		return policy.Request{}, err
	}
	if assumed := t.Context.Permissions; assumed != nil {
		facts.Permissions = *assumed
	}
	if assumed := t.Context.Enabled; assumed != nil {
		facts.Enabled = *assumed
	}
	if assumed := t.Context.Certified; assumed != nil {
		facts.Certified = *assumed
	}
	switch t.Resource.Type {
	case policy.Host:
		name, err := egress.Normalize(t.Resource.ID)
		if err != nil {
			return policy.Request{}, fault.Refuse([]fault.FieldError{{Pointer: "/resource/id", Detail: err.Error()}})
		}
		t.Resource.ID, t.Resource.Title = name, name
	case integration.Entity:
		t.Resource.Provider, t.Resource.Title = t.Resource.ID, t.Resource.ID
	}
	if t.Principal.Type == integration.Entity {
		t.Resource.Provider = t.Principal.ID
	}
	return policy.Request{
		Principal: timeline.Reference{Type: t.Principal.Type, ID: t.Principal.ID}, Action: t.Action,
		Resource: timeline.Reference{Type: t.Resource.Type, ID: t.Resource.ID}, Context: facts, Payload: t.Resource,
		Item: policy.Item{
			Provider: t.Resource.Provider, ExternalID: t.Resource.ExternalID, Kind: t.Resource.Kind, Title: t.Resource.Title,
			Subject: t.Resource.Subject, State: t.Resource.State, Percent: t.Resource.Percent, Count: t.Resource.Count, Total: t.Resource.Total, Priority: t.Resource.Priority, Own: t.Resource.Own,
		},
	}, nil
}

// trialFacts returns the stored facts about the principal of a trial. An integration that is not configured has no permission,
// and an executive that does not exist declares no action.
func (d Deps) trialFacts(ctx context.Context, c store.Company, t PolicyTrial) (policy.Context, error) {
	facts := policy.Context{Port: t.Action}
	if t.Principal.Type == executive.Entity {
		e, err := executive.Load(ctx, c, t.Principal.ID)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return facts, err
		}
		owner, err := acting.OwnerState(ctx, c, e.Owner)
		facts.Kind, facts.Enabled, facts.Certified = e.Role, owner == user.Active, e.StateAt(d.Now()) == executive.Certified
		for _, declared := range e.Actions {
			facts.Permissions = append(facts.Permissions, string(declared))
		}
		return facts, err
	}
	i, _, err := integration.Load(ctx, c, t.Principal.ID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return facts, err
	}
	facts.Kind, facts.Enabled, facts.Certified = i.Kind, i.Enabled, i.IsCertified(d.Now())
	if port := trialKindOf(t.Action).port; port != "" {
		facts.Port = string(port)
	}
	for _, port := range i.Permissions {
		facts.Permissions = append(facts.Permissions, string(port))
	}
	return facts, nil
}

// trialKind describes what a trial of an action needs.
type trialKind struct {
	resource   string           // the type
	principals []string         // the types
	port       integration.Port // "": the permission has the action's name
}

func trialKindOf(action string) trialKind {
	connector, agent := []string{integration.Entity}, []string{executive.Entity}
	switch action {
	case string(integration.MemoryUpsert), intake.MemoryDelete:
		return trialKind{memory.Entity, connector, integration.MemoryUpsert}
	case string(integration.GoalUpdate), intake.GoalDelete:
		return trialKind{goal.Entity, connector, integration.GoalUpdate}
	case policy.SyncFetch:
		return trialKind{policy.Host, connector, integration.SyncPull}
	case policy.SyncRemove:
		return trialKind{policy.Removal, connector, integration.SyncPull}
	case policy.PoliciesReplace:
		return trialKind{policy.StoredEntity, []string{user.Entity}, ""}
	case policy.EndpointDisable:
		return trialKind{integration.Entity, []string{policy.ServiceType}, ""}
	case string(executive.GoalNote):
		return trialKind{goal.Entity, agent, ""}
	case string(executive.RecommendationClaim), string(executive.RecommendationDismiss):
		return trialKind{recommendation.Entity, agent, ""}
	case string(executive.MemorySync), string(executive.IntegrationDisable), string(executive.DeliveriesRecover):
		return trialKind{integration.Entity, agent, ""}
	}
	return trialKind{timeline.Entity, []string{integration.Entity, executive.Entity}, ""}
}
