package operations

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/acting"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// carryOut plans an approved action again and returns the writes that belong to it. Their commit fails if the policies or the
// integration have changed since the decision.
func (d Deps) carryOut(ctx context.Context, a approval.Approval) (intake.Planned, []store.Op, error) {
	c := web.Tenant(ctx)
	if a.Action == erasure.Action {
		decision, ops, err := d.beginErasure(ctx, a)
		return intake.Planned{Decision: decision, Outcome: intake.Updated}, ops, err
	}
	if a.Action == policy.PoliciesReplace {
		return d.carryOutReplacement(ctx, a)
	}
	if a.Action == policy.EndpointDisable {
		return d.disableEndpoint(ctx, a)
	}
	if a.Principal.Type == executive.Entity {
		return d.carryOutAction(ctx, a)
	}
	if a.Principal.Type != integration.Entity {
		return intake.Planned{}, nil, fault.Newf(fault.Conflict, "this release cannot carry out actions of a principal of type %s", a.Principal.Type)
	}
	i, version, err := integration.Load(ctx, c, a.Principal.ID)
	switch {
	case fault.KindOf(err) == fault.NotFound: // without permissions; the policies deny its actions
		i = integration.Integration{Provider: a.Principal.ID}
	case err != nil:
		return intake.Planned{}, nil, err
	case i.CreatedAt.After(a.RequestedAt):
		return intake.Planned{}, nil, i.Newer()
	case i.IsDamaged():
		return intake.Planned{}, nil, i.Usable()
	case i.Enabled && !i.IsCertified(d.Now()):
		return intake.Planned{}, nil, fault.Newf(fault.Conflict, "integration %q is in the sandbox, where its actions take no effect; certify it first", a.Principal.ID)
	}
	policies, err := policy.Unchanged(ctx, c)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	action, err := intake.Restore(a.Action, a.Payload)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	planner := intake.Planner{Company: c, Integration: i, Engine: d.Engine, Now: d.Now().UTC(), Approval: a.Digest}
	planned, err := planner.Plan(ctx, action)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	ops := append([]store.Op{policy.Create(c, planned.Decision)}, planned.Ops...)
	if version > 0 {
		ops = append(ops, c.Unchanged(integration.Key(i.Provider), version))
	}
	return planned, append(ops, policies...), nil
}

// carryOutAction plans an executive's approved action again.
func (d Deps) carryOutAction(ctx context.Context, a approval.Approval) (intake.Planned, []store.Op, error) {
	if d.NoExecutives {
		return intake.Planned{}, nil, fault.New(fault.Conflict, "the Executive Runtime is switched off; reject the action, or let it expire")
	}
	with := acting.Deps{Connectors: d.Connectors, Engine: d.Engine, Recommendations: d.Reader}
	planned, err := with.CarryOut(ctx, web.Tenant(ctx), a, d.Now().UTC())
	outcome := intake.Updated
	if planned.State != executive.Done {
		outcome = intake.Refused
	}
	return intake.Planned{Decision: planned.Decision, Outcome: outcome}, planned.Ops, err
}
