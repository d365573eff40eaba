package policyengine

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
)

// question is a request in Cedar's terms, with the three entities that it names. It implements types.EntityGetter.
type question struct {
	request  cedar.Request
	entities [3]cedar.Entity // principal, action, resource
	facts    cedar.RecordMap
}

// Get implements types.EntityGetter.
func (q *question) Get(uid cedar.EntityUID) (cedar.Entity, bool) {
	for i := range q.entities {
		if q.entities[i].UID == uid {
			return q.entities[i], true
		}
	}
	return cedar.Entity{}, false
}

// unidentified stands for the digest where no policy reads it. It differs from an absent approval, which is "".
const unidentified = "-"

// frame holds what a question takes from its principal and its action. Most webhooks differ in the resource alone, and to build the
// frame again would take a third of the time of a decision.
type frame struct {
	principalRef timeline.Reference
	context      policy.Context
	name         string // of the action

	principal, action cedar.Entity
	facts             cedar.RecordMap
	record            cedar.Record // of the facts
}

// frames keeps the frame of the last question. The zero value holds none.
type frames struct{ last atomic.Pointer[frame] }

// of returns the frame of a request whose approval and digest no policy reads yet.
func (f *frames) of(r policy.Request) (*frame, error) {
	if last := f.last.Load(); last != nil && last.fits(r) {
		return last, nil
	}
	one, err := frameOf(r, unidentified)
	if err == nil {
		f.last.Store(one)
	}
	return one, err
}

func (f *frame) fits(r policy.Request) bool {
	a, b := f.context, r.Context
	return f.principalRef == r.Principal && f.name == r.Action && slices.Equal(a.Permissions, b.Permissions) &&
		a.Kind == b.Kind && a.Port == b.Port && a.Certified == b.Certified && a.Enabled == b.Enabled
}

func frameOf(r policy.Request, digest string) (*frame, error) {
	f := &frame{principalRef: r.Principal, context: r.Context, name: r.Action, facts: cedar.RecordMap{
		"port": cedar.String(r.Context.Port), "digest": cedar.String(digest), "approval": cedar.String(r.Approval),
	}}
	f.context.Permissions = slices.Clone(r.Context.Permissions)
	f.record = cedar.NewRecord(f.facts)
	var err error
	if f.principal, err = principal(r); err != nil {
		return nil, err
	}
	f.action, err = action(r.Action)
	return f, err
}

// ask puts a request in Cedar's terms.
func (f *frames) ask(r policy.Request, digest string) (*question, error) {
	resource, err := resource(r)
	if err != nil {
		return nil, err
	}
	var in *frame
	if digest == "" && r.Approval == "" {
		in, err = f.of(r)
	} else {
		in, err = frameOf(r, cmp.Or(digest, unidentified))
	}
	if err != nil {
		return nil, err
	}
	q := &question{entities: [3]cedar.Entity{in.principal, in.action, resource}, facts: in.facts}
	q.request = cedar.Request{Principal: in.principal.UID, Action: in.action.UID, Resource: resource.UID, Context: in.record}
	return q, nil
}

// approved returns the question as if a person had approved the action.
func (q *question) approved(digest string) *question {
	other := *q
	other.facts = cedar.RecordMap{}
	for name, value := range q.facts {
		other.facts[name] = value
	}
	other.facts["approval"] = cedar.String(digest)
	other.request.Context = cedar.NewRecord(other.facts)
	return &other
}

func principal(r policy.Request) (cedar.Entity, error) {
	ports := make([]types.Value, 0, len(r.Context.Permissions))
	for _, port := range r.Context.Permissions {
		ports = append(ports, cedar.String(port))
	}
	attributes := cedar.RecordMap{
		"enabled": cedar.Boolean(r.Context.Enabled), "certified": cedar.Boolean(r.Context.Certified), "permissions": cedar.NewSet(ports...),
	}
	switch r.Principal.Type {
	case integration.Entity:
		attributes["kind"] = cedar.String(r.Context.Kind)
		return entity("Integration", r.Principal.ID, attributes), nil
	case executive.Entity:
		attributes["role"] = cedar.String(r.Context.Kind)
		return entity("Executive", r.Principal.ID, attributes), nil
	case user.Entity:
		attributes["role"] = cedar.String(r.Context.Kind)
		return entity("User", r.Principal.ID, attributes), nil
	case policy.ServiceType:
		return entity("Service", r.Principal.ID, attributes), nil
	}
	return cedar.Entity{}, fmt.Errorf("no policy can be about a principal of type %q, which asks for %s", r.Principal.Type, r.Action)
}

func resource(r policy.Request) (cedar.Entity, error) {
	i := r.Item
	attributes := cedar.RecordMap{"provider": cedar.String(i.Provider), "title": cedar.String(i.Title)}
	switch r.Resource.Type {
	case memory.Entity:
		attributes["externalId"], attributes["kind"] = cedar.String(i.ExternalID), cedar.String(i.Kind)
		return entity("Memory", r.Resource.ID, attributes), nil
	case goal.Entity:
		attributes["externalId"], attributes["state"] = cedar.String(i.ExternalID), cedar.String(i.State)
		attributes["percent"] = cedar.Long(i.Percent)
		return entity("Goal", r.Resource.ID, attributes), nil
	case timeline.Entity:
		attributes["subject"] = cedar.String(i.Subject)
		return entity("Note", r.Resource.ID, attributes), nil
	case recommendation.Entity:
		return entity("Recommendation", r.Resource.ID, cedar.RecordMap{
			"rule": cedar.String(i.Kind), "priority": cedar.String(i.Priority), "title": cedar.String(i.Title),
		}), nil
	case integration.Entity:
		if r.Action == policy.EndpointDisable {
			attributes["reason"] = cedar.String(i.Reason)
			return entity("Endpoint", r.Resource.ID, attributes), nil
		}
		return entity("Provider", r.Resource.ID, attributes), nil
	case policy.Removal:
		attributes["count"], attributes["total"] = cedar.Long(i.Count), cedar.Long(i.Total)
		return entity("Removal", r.Resource.ID, attributes), nil
	case policy.StoredEntity:
		attributes["loosens"] = cedar.Boolean(i.Loosens)
		return entity("Policies", r.Resource.ID, attributes), nil
	case policy.Host:
		attributes["own"] = cedar.Boolean(i.Own)
		return entity("Host", r.Resource.ID, attributes), nil
	}
	return cedar.Entity{}, fmt.Errorf("no policy can be about a resource of type %q", r.Resource.Type)
}

// action returns the entity of an action. Its parents are the groups of actions that the schema gives it.
func action(name string) (cedar.Entity, error) {
	var groups []cedar.EntityUID
	switch name {
	case string(integration.MemoryUpsert), string(integration.GoalUpdate), string(integration.TimelineNote), "memory.delete", "goal.delete", policy.SyncFetch:
		groups = append(groups, cedar.NewEntityUID("Action", "connector"))
	case policy.EndpointDisable:
		groups = append(groups, cedar.NewEntityUID("Action", "service"))
	}
	if slices.Contains(executive.Actions(), executive.Action(name)) {
		groups = append(groups, cedar.NewEntityUID("Action", "executive"))
	}
	if len(groups) == 0 && name != policy.SyncRemove && name != policy.PoliciesReplace {
		return cedar.Entity{}, fmt.Errorf("no policy can be about the action %q", name)
	}
	return cedar.Entity{UID: cedar.NewEntityUID("Action", cedar.String(name)), Parents: cedar.NewEntityUIDSet(groups...)}, nil
}

func entity(kind cedar.EntityType, id string, attributes cedar.RecordMap) cedar.Entity {
	return cedar.Entity{UID: cedar.NewEntityUID(kind, cedar.String(id)), Attributes: cedar.NewRecord(attributes)}
}
