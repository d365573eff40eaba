package intake

import (
	"context"

	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
)

// PlanAll plans the actions of one arrival in order. If two actions change the same item, only the later one takes effect,
// because a commit writes an item once. An action that is asked for twice gets one approval.
func (p Planner) PlanAll(ctx context.Context, actions []connector.Action) ([]Planned, error) {
	planned := make([]Planned, 0, len(actions))
	owner, asked := map[timeline.Reference]int{}, map[string]string{}
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
		if a.Note != nil || one.Outcome == Refused || one.Outcome == Pending { // each has its own items
			continue
		}
		if earlier, taken := owner[one.Decision.Resource]; taken {
			planned[earlier].Ops, planned[earlier].Outcome = nil, Unchanged
		}
		owner[one.Decision.Resource] = n
	}
	return planned, nil
}
