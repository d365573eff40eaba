package operations

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/disabling"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/egress"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// PolicyTrial describes an action to decide on without carrying it out.
type PolicyTrial struct {
	Principal TrialPrincipal     `json:"principal" doc:"who would ask"`
	Action    string             `json:"action" enum:"memory.upsert,goal.update,timeline.note,sync.fetch,endpoint.disable" doc:"the action that would be asked for" example:"goal.update"`
	Resource  TrialResource      `json:"resource" doc:"what the action would store"`
	Context   TrialContext       `json:"context,omitempty" doc:"facts to assume"`
	Policies  []policy.Statement `json:"policies,omitempty" nullable:"false" maxItems:"100" doc:"company policies to try; without them, the stored ones decide"`
}

// TrialPrincipal names who would ask: an integration, or the service for endpoint.disable.
type TrialPrincipal struct {
	Type string `json:"type" enum:"integration,service" doc:"integration, or service for endpoint.disable" example:"integration"`
	ID   string `json:"id" maxLength:"64" doc:"the provider's name; of the service, orgops" example:"github"`
}

// TrialResource holds what an action would store, as far as policies may read it.
type TrialResource struct {
	Type       string `json:"type" enum:"memory,goal,timeline,host,integration" doc:"memory for memory.upsert, goal for goal.update, timeline for timeline.note, host for sync.fetch, integration for endpoint.disable" example:"goal"`
	ID         string `json:"id,omitempty" maxLength:"253" doc:"its id; of a host or an integration, its name" example:"api.github.com"`
	ExternalID string `json:"externalId,omitempty" maxLength:"512" doc:"of a memory or a goal" example:"octo/app/milestones/1"`
	Kind       string `json:"kind,omitempty" maxLength:"64" doc:"of a memory" example:"issue"`
	Title      string `json:"title,omitempty" maxLength:"1024" doc:"its title" example:"Ship the beta"`
	State      string `json:"state,omitempty" enum:"open,closed" doc:"of a goal" example:"closed"`
	Percent    int    `json:"percent,omitempty" minimum:"0" maximum:"100" format:"int32" doc:"of a goal's progress" example:"40"`
	Subject    string `json:"subject,omitempty" maxLength:"512" doc:"of a note"`
	Reason     string `json:"reason,omitempty" enum:"gone,failing" doc:"of an endpoint that would be disabled: it answered 410, or nothing has reached it for five days" example:"failing"`
}

// TrialContext holds facts that a trial assumes instead of the integration's own.
type TrialContext struct {
	Permissions *[]integration.Port `json:"permissions,omitempty" maxItems:"20" doc:"the integration's permissions"`
	Enabled     *bool               `json:"enabled,omitempty" doc:"whether the integration is enabled"`
	Certified   *bool               `json:"certified,omitempty" doc:"whether it is out of the sandbox"`
	Approved    bool                `json:"approved,omitempty" doc:"decide as if a person had approved the action"`
}

type trialInput struct{ Body PolicyTrial }

type decisionOutput struct{ Body policy.Decision }

// testPolicies decides on an action and changes nothing.
func (d Deps) testPolicies(ctx context.Context, in *trialInput) (*decisionOutput, error) {
	if want := resourceOf(in.Body.Action); in.Body.Resource.Type != want {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/resource/type", Detail: "the resource of " + in.Body.Action + " is of type " + want}})
	}
	if want := principalOf(in.Body.Action); in.Body.Principal.Type != want {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/principal/type", Detail: "the principal of " + in.Body.Action + " is of type " + want}})
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

// trialSet compiles the policies of the trial, or the stored ones if it has none.
func (d Deps) trialSet(ctx context.Context, c store.Company, own []policy.Statement) (*policyengine.Set, error) {
	if own != nil {
		return d.compile("/policies", own)
	}
	stored, _, err := policy.Load(ctx, c)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return policyengine.Compile(stored.Policies)
}

// trialRequest makes the request that a trial describes. An integration that is not configured has no permission.
func (d Deps) trialRequest(ctx context.Context, c store.Company, t PolicyTrial) (policy.Request, error) {
	if t.Action == policy.EndpointDisable {
		disables := disabling.Case{Company: c, Integration: integration.Integration{Provider: t.Resource.ID}, Reason: t.Resource.Reason}
		return disables.Question(), nil
	}
	i, _, err := integration.Load(ctx, c, t.Principal.ID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return policy.Request{}, err
	}
	facts := policy.Context{Kind: i.Kind, Port: portOf(t.Action), Enabled: i.Enabled, Certified: i.IsCertified(d.Now())}
	ports := i.Permissions
	if assumed := t.Context.Permissions; assumed != nil {
		ports = *assumed
	}
	for _, port := range ports {
		facts.Permissions = append(facts.Permissions, string(port))
	}
	if assumed := t.Context.Enabled; assumed != nil {
		facts.Enabled = *assumed
	}
	if assumed := t.Context.Certified; assumed != nil {
		facts.Certified = *assumed
	}
	if t.Action == policy.SyncFetch {
		t.Resource.ID = egress.Normalize(t.Resource.ID)
		t.Resource.Title = t.Resource.ID
	}
	return policy.Request{
		Principal: timeline.Reference{Type: integration.Entity, ID: t.Principal.ID}, Action: t.Action,
		Resource: timeline.Reference{Type: t.Resource.Type, ID: t.Resource.ID}, Context: facts, Payload: t.Resource,
		Item: policy.Item{
			Provider: t.Principal.ID, ExternalID: t.Resource.ExternalID, Kind: t.Resource.Kind, Title: t.Resource.Title,
			Subject: t.Resource.Subject, State: t.Resource.State, Percent: t.Resource.Percent,
		},
	}, nil
}

func resourceOf(action string) string {
	switch action {
	case string(integration.MemoryUpsert):
		return memory.Entity
	case string(integration.GoalUpdate):
		return goal.Entity
	case policy.SyncFetch:
		return policy.Host
	case policy.EndpointDisable:
		return integration.Entity
	}
	return timeline.Entity
}

func principalOf(action string) string {
	if action == policy.EndpointDisable {
		return policy.ServiceType
	}
	return integration.Entity
}

// portOf returns the permission that an action needs.
func portOf(action string) string {
	if action == policy.SyncFetch {
		return string(integration.SyncPull)
	}
	return action
}
