package intake

import (
	"context"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

// The actions that remove what the provider no longer has. Each needs the same permission as storing it.
const (
	MemoryDelete = "memory.delete"
	GoalDelete   = "goal.delete"
)

// Removed is the outcome of an action that removes an item.
const Removed Outcome = "removed"

// Remove decides whether the memory or goal of an action may be removed, and plans its removal at the stored version. A verdict
// other than permitted keeps the item.
func (p *Planner) Remove(ctx context.Context, a connector.Action, version int64) (Planned, error) {
	name, entity, key := p.removal(a)
	d, err := p.judge(ctx, a, p.exactly(a), name)
	if err != nil {
		return Planned{}, err
	}
	planned := Planned{Action: a, Decision: d, Outcome: Refused}
	if d.Verdict != policy.Permitted {
		planned.Ops = []store.Op{p.refusal(d)}
		return planned, nil
	}
	planned.Outcome, planned.Ops = Removed, []store.Op{p.Company.Delete(key, entity, version)}
	return planned, nil
}

// gone plans the removal of an item that the provider says it has deleted. An item that is not stored, or has changed
// since, stays as it is.
func (p *Planner) gone(ctx context.Context, a connector.Action) (Planned, error) {
	planned := Planned{Action: a, Outcome: Unchanged}
	var (
		version int64
		err     error
		stored  connector.Action
		deleted Outcome
	)
	if a.Goal != nil {
		var old goal.Goal
		version, err = p.load(ctx, p.Key(a), &old)
		stored, deleted = StoredGoal(old), unchanged(a.Goal.UpdatedAt, old.SourceUpdatedAt)
	} else {
		var old memory.Memory
		version, err = p.load(ctx, p.Key(a), &old)
		stored, deleted = StoredMemory(old), unchanged(a.Memory.UpdatedAt, old.SourceUpdatedAt)
	}
	if err != nil || version == 0 || deleted == older {
		return planned, err
	}
	return p.Remove(ctx, stored, version)
}

// StoredMemory returns the action that a verdict on the removal of a memory is about.
func StoredMemory(m memory.Memory) connector.Action {
	return connector.Action{Port: integration.MemoryUpsert, Memory: &memory.Draft{ExternalID: m.ExternalID, Kind: m.Kind, Title: m.Title}}
}

// StoredGoal returns the action that a verdict on the removal of a goal is about.
func StoredGoal(g goal.Goal) connector.Action {
	return connector.Action{Port: integration.GoalUpdate, Goal: &goal.Draft{
		ExternalID: g.ExternalID, Title: g.Title, State: g.State, Progress: g.Progress,
	}}
}

// RemoveMany asks whether a full sync may remove so many of the stored items that a user would have to agree. A decision without
// policies leaves that to the user. refusal notes a decision that denies on the timeline.
func (p *Planner) RemoveMany(ctx context.Context, items, of int) (d policy.Decision, refusal store.Op, err error) {
	r := p.request(policy.SyncRemove, integration.SyncPull)
	r.Resource = timeline.Reference{Type: policy.Removal, ID: p.Integration.Provider}
	r.Item = policy.Item{Provider: p.Integration.Provider, Title: p.Integration.Provider, Count: items, Total: of}
	r.Payload = []int{items, of}
	if d, err = policy.Ask(ctx, p.Engine, p.Company, r, p.Now); err != nil {
		return d, store.Op{}, err
	}
	return d, p.refusal(d), nil
}

// removal returns the name of the action that removes an item, and the item's entity and key.
func (p *Planner) removal(a connector.Action) (name, entity, key string) {
	if a.Goal != nil {
		return GoalDelete, goal.Entity, p.Key(a)
	}
	return MemoryDelete, memory.Entity, p.Key(a)
}
