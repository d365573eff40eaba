package intake

import (
	"context"
	"encoding/json"
	"fmt"

	"orgops/shared/domain/approval"
	"orgops/shared/storage/store"
)

// ask plans the request for an approval. An action that would change nothing needs none, and an action whose approval waits or
// was rejected a short time ago gets no second one.
func (p *Planner) ask(ctx context.Context, planned *Planned, payload exact) error {
	careful := *p
	careful.Presume = false // no commit would show that the item exists
	outcome, _, err := careful.effect(ctx, planned.Action, planned.Decision)
	if err != nil {
		return err
	}
	if outcome == Unchanged || outcome == older {
		planned.Outcome = Unchanged
		return nil
	}
	planned.Outcome = Pending
	if p.DryRun {
		return nil
	}
	d := planned.Decision
	mark, version, err := approval.FindMark(ctx, p.Company, d.ActionDigest)
	if err != nil {
		return store.Fault(err, "")
	}
	if mark.Holds(p.Now) {
		planned.ApprovalID = mark.ID
		return nil
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("keep the action %s: %w", d.Action, err)
	}
	request := approval.New(d, text, p.item(planned.Action).Title, d.Principal)
	planned.ApprovalID, planned.Ops = request.ID, request.Request(p.Company, version)
	return nil
}
