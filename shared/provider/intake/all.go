package intake

import (
	"context"
	"time"

	"orgops/shared/provider/connector"
)

// PlanAll plans the actions of one arrival in order. If two actions change the same item, only the newer one takes effect,
// because a commit writes an item once. What is to be noted once is noted by the first one. An action that is asked for twice gets
// one approval.
func (p *Planner) PlanAll(ctx context.Context, actions []connector.Action) ([]Planned, error) {
	if len(actions) == 1 {
		one, err := p.Plan(ctx, actions[0])
		if err != nil {
			return nil, err
		}
		return []Planned{one}, nil
	}
	planned := make([]Planned, 0, len(actions))
	owner, asked := map[string]int{}, map[string]string{}
	for n, a := range actions {
		one, err := p.Plan(ctx, a)
		if err != nil {
			return nil, err
		}
		if one.Outcome == Pending && one.Ops != nil {
			if first, again := asked[one.Decision.ActionDigest]; again {
				one.ApprovalID, one.Ops = first, nil
			}
			asked[one.Decision.ActionDigest] = one.ApprovalID
		}
		planned = append(planned, one)
		key := p.Key(a)
		if key == "" || one.Outcome == Refused || one.Outcome == Pending { // each has its own items
			continue
		}
		earlier, taken := owner[key]
		switch {
		case taken && (a.Note != nil || p.yields(one, planned[earlier])):
			planned[n].Ops, planned[n].Outcome = nil, Unchanged
			continue
		case taken:
			planned[earlier].Ops, planned[earlier].Outcome = nil, Unchanged
		}
		owner[key] = n
	}
	return planned, nil
}

// yields reports whether an action is older than one on the same item that comes before it, or than the stored item. Without times, the
// order of the arrival counts.
func (p *Planner) yields(one, earlier Planned) bool {
	is, was := p.changed(one.Action), p.changed(earlier.Action)
	return one.Older || is != nil && was != nil && is.Before(*was)
}

// changed returns when an item changed at the provider, if that is known.
func (p *Planner) changed(a connector.Action) *time.Time {
	switch {
	case a.Memory != nil:
		return p.past(a.Memory.UpdatedAt)
	case a.Goal != nil:
		return p.past(a.Goal.UpdatedAt)
	}
	return nil
}
