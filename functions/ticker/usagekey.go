package ticker

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/identity/usagekey"
	"orgops/shared/storage/store"
)

// Plans ends the usage keys that companies have at the gateway.
type Plans interface {
	// Enrol gives a company its key in a plan. It is idempotent.
	Enrol(ctx context.Context, companyID, plan string) error
	// Withdraw deletes a company's key in a plan. It has no effect without one.
	Withdraw(ctx context.Context, companyID, plan string) error
}

// endKey deletes the key of a plan that a company had. The company may come back to the plan at the same moment: then it gets its
// key again, because the provisioner makes the key before it stores the plan.
func (t *Ticker) endKey(ctx context.Context, c store.Company, plan string) ([]store.Op, error) {
	if t.Plans == nil {
		return nil, nil
	}
	has, err := onPlan(ctx, c, plan)
	if err != nil || has {
		return nil, err
	}
	if err := t.Plans.Withdraw(ctx, c.ID(), plan); err != nil {
		return nil, err
	}
	if has, err = onPlan(ctx, c, plan); err != nil || !has {
		return nil, err
	}
	return nil, t.Plans.Enrol(ctx, c.ID(), plan)
}

// onPlan reports whether a company is on a plan. A company that is gone is on none.
func onPlan(ctx context.Context, c store.Company, plan string) (bool, error) {
	is, _, err := company.Get(ctx, c)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return is.Plan == plan, err
}

// endKeys deletes all keys of a company that is erased.
func (t *Ticker) endKeys(ctx context.Context, companyID string) error {
	if t.Plans == nil {
		return nil
	}
	for _, plan := range usagekey.Plans() {
		if !usagekey.NeedsKey(plan) {
			continue
		}
		if err := t.Plans.Withdraw(ctx, companyID, plan); err != nil {
			return err
		}
	}
	return nil
}
