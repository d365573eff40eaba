package company

import (
	"context"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/identity/usagekey"
	"orgops/shared/storage/store"
)

// CheckPlan refuses a plan that has no limits.
func CheckPlan(plan string) error {
	if slices.Contains(usagekey.Plans(), plan) {
		return nil
	}
	return fault.Refuse([]fault.FieldError{{Pointer: "/plan", Detail: "must be one of " + strings.Join(usagekey.Plans(), ", ")}})
}

// KeyTimer names the kind of the timers that end the usage key of a former plan, which is their subject. By keyStays no token of the
// plan is valid, and no gateway remembers one.
const (
	KeyTimer = "usage-key"
	keyStays = 2 * time.Hour
)

// SetPlan stores the plan of the company that c is bound to. Tokens that are issued from now on have the plan; those issued before
// keep the former one until they expire. Where a gateway holds to the plans, the company must have its key in the new plan before.
func SetPlan(ctx context.Context, c store.Company, plan string, now time.Time) (Company, error) {
	if err := CheckPlan(plan); err != nil {
		return Company{}, err
	}
	is, version, err := Get(ctx, c)
	if err != nil || is.Plan == plan {
		return is, err
	}
	former := is.Plan
	is.Plan = plan
	ops := []store.Op{c.Replace(Key, Entity, version, is)}
	if usagekey.NeedsKey(former) {
		ops = append(ops, c.Timer(now.Add(keyStays), KeyTimer, former))
	}
	return is, store.Fault(c.Commit(ctx, ops...), "there is no such company")
}
