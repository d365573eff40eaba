package suspension

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
)

// maxTries bounds how often an integration is marked again after a concurrent change to it.
const maxTries = 20

// mark gives every integration the mark of a suspended company, or takes it away. With the mark of an endpoint, it removes what
// the mark has held: the same commit requests a recovery.
func mark(ctx context.Context, c store.Company, suspended bool, now time.Time) error {
	all, err := integration.List(ctx, c)
	if err != nil {
		return err
	}
	for _, i := range all {
		if err := markOne(ctx, c, i, suspended, now); err != nil {
			return err
		}
	}
	return nil
}

// markOne marks one integration. It reads the integration again if another write was faster.
func markOne(ctx context.Context, c store.Company, i integration.Stored, suspended bool, now time.Time) error {
	for range maxTries {
		if i.Suspended == suspended || i.IsDamaged() { // a damaged one is not used
			return nil
		}
		i.Suspended = suspended
		ops := []store.Op{c.Replace(integration.Key(i.Provider), integration.Entity, i.Version, i.Integration)}
		if !suspended && i.Has(integration.EventDeliver) {
			ops = append(ops, owed(i.Provider, now).Request(c, i.Incarnation))
		}
		err := c.Commit(ctx, ops...)
		if err == nil || !errors.Is(err, store.ErrConflict) {
			return store.Fault(err, "")
		}
		if i.Integration, i.Version, err = integration.Load(ctx, c, i.Provider); fault.KindOf(err) == fault.NotFound {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fault.Newf(fault.Conflict, "integration %q keeps changing; repeat the command", i.Provider)
}

// owed returns the recovery of what an endpoint was not sent while its company was suspended. It covers all that is kept,
// because an event may be older than the suspension that held its delivery.
func owed(provider string, now time.Time) recovery.Recovery {
	return recovery.Recovery{
		ID: id.New(), Provider: provider, Since: now.Add(-delivery.Kept), Until: now, Only: delivery.Held,
		State: recovery.Requested, RequestedAt: now,
	}
}

// Check marks the integrations that a request in flight has stored without the mark, or that a crash has left. It requests another recovery of
// each endpoint of a resumed company: an attempt in flight may have held its delivery after the first one. It commits those of many endpoints
// in portions, and returns the writes that are left.
func Check(ctx context.Context, c store.Company, now time.Time) ([]store.Op, error) {
	is, _, err := company.Get(ctx, c)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := mark(ctx, c, is.Suspended != nil, now); err != nil || is.Suspended != nil {
		return nil, err
	}
	all, err := integration.List(ctx, c)
	if err != nil {
		return nil, err
	}
	var ops []store.Op
	for _, i := range all {
		if !i.Has(integration.EventDeliver) || i.IsDamaged() {
			continue
		}
		if len(ops) == store.MaxOps/2 {
			if err := c.Commit(ctx, ops...); err != nil {
				return nil, store.Fault(err, "")
			}
			ops = nil
		}
		ops = append(ops, owed(i.Provider, now).Request(c, i.Incarnation))
	}
	return ops, nil
}
