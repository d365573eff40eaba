package operations

import (
	"context"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/disabling"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// disableEndpoint decides again on an endpoint that the service would disable, and returns the writes that follow.
func (d Deps) disableEndpoint(ctx context.Context, a approval.Approval) (intake.Planned, []store.Op, error) {
	c := web.Tenant(ctx)
	approved, err := disabling.Restore(ctx, c, a, d.Now().UTC())
	if err != nil {
		return intake.Planned{}, nil, err
	}
	policies, err := policy.Unchanged(ctx, c)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	planned, err := approved.Plan(ctx, d.Engine)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	outcome := intake.Refused
	if planned.Disables {
		outcome = intake.Updated
	}
	return intake.Planned{Decision: planned.Decision, Outcome: outcome}, append(planned.Ops, policies...), nil
}
