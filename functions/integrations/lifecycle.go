package integrations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// deleteIntegration removes the integration, its secrets, reports and mapping, and its connector's state between syncs.
func (d Deps) deleteIntegration(ctx context.Context, in *ChangeInput) (*struct{}, error) {
	stored, err := d.find(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	if err := in.Check(revision(stored)); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	ops := []store.Op{c.Delete(integration.Key(in.Provider), integration.Entity, stored.Version)}
	var credential int64 // the version whose tokens are revoked
	if stored.Connection != nil {
		secrets, version, err := integration.LoadSecrets(ctx, c, d.Vault, in.Provider)
		if err != nil { // the deletion does not need the vault
			d.Logger.WarnContext(ctx, "tokens not revoked", "company", c.ID(), "provider", in.Provider, "error", err)
		}
		ops, credential = append(ops, d.disconnected(ctx, stored.Integration, secrets, integration.Secrets{})...), version
	}
	for _, own := range []struct{ key, entity string }{
		{integration.CredentialKey(in.Provider), integration.CredentialEntity},
		{integration.ReportsKey(in.Provider), integration.ReportsEntity},
		{integration.MappingKey(in.Provider), integration.MappingEntity},
		{syncrun.SlotKey(in.Provider), syncrun.SlotEntity},
	} {
		op, there, err := removal(ctx, c, own.key, own.entity)
		if err != nil {
			return nil, err
		}
		if there && own.entity == integration.CredentialEntity && credential > 0 {
			op = c.Delete(own.key, own.entity, credential).Quietly()
		}
		if there {
			ops = append(ops, op)
		}
	}
	ends, err := unsource(ctx, c, stored.Integration, d.Now().UTC())
	if err != nil {
		return nil, err
	}
	return nil, in.Overtaken(store.Fault(c.Commit(ctx, append(ops, ends...)...), ""))
}

// unsource returns the writes of the goals that an integration has measured. They keep their last value and say why it stays.
func unsource(ctx context.Context, c store.Company, i integration.Integration, now time.Time) (ops []store.Op, err error) {
	for _, goalID := range i.Goals {
		var old goal.Goal
		item, err := c.Get(ctx, goal.Key(goalID), &old)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, store.Fault(err, "")
		}
		if source, ok := old.Source(); !ok || source.Provider != i.Provider {
			continue
		}
		more, err := intake.SaveGoal(ctx, c, old, goal.Unsourced(old, now), item.Version, now)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		ops = append(ops, more...)
	}
	return ops, nil
}

func removal(ctx context.Context, c store.Company, key, entity string) (op store.Op, there bool, err error) {
	item, err := c.Get(ctx, key, nil)
	if errors.Is(err, store.ErrNotFound) {
		return store.Op{}, false, nil
	}
	return c.Delete(key, entity, item.Version).Quietly(), err == nil, store.Fault(err, "")
}

func (d Deps) enableIntegration(ctx context.Context, in *ChangeInput) (*changedOutput, error) {
	return d.change(ctx, *in, func(i *integration.Integration) (bool, error) {
		if err := checkEnabling(ctx, *i); err != nil {
			return false, err
		}
		was := i.Enabled
		i.Enabled, i.Disabled = true, nil
		return !was || i.Schedule != nil && i.Schedule.PausedAt != nil, nil
	})
}

func (d Deps) disableIntegration(ctx context.Context, in *ChangeInput) (*changedOutput, error) {
	return d.change(ctx, *in, func(i *integration.Integration) (bool, error) {
		was := i.Enabled
		i.Disable(integration.DisabledManually, d.Now().UTC())
		return was, nil
	})
}

// change edits and writes an integration. It writes nothing if edit returns false.
func (d Deps) change(ctx context.Context, in ChangeInput, edit func(*integration.Integration) (bool, error)) (*changedOutput, error) {
	stored, err := d.load(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	if err := in.Check(revision(stored)); err != nil {
		return nil, err
	}
	i := stored.Integration
	changed, err := edit(&i)
	if err != nil {
		return nil, err
	}
	if !changed {
		return d.answer(ctx, stored)
	}
	i.UpdatedAt = d.Now().UTC()
	c := web.Tenant(ctx)
	ops := resume(c, &i)
	if err := c.Commit(ctx, append(ops, c.Replace(integration.Key(in.Provider), integration.Entity, stored.Version, i))...); err != nil {
		return nil, in.Overtaken(store.Fault(err, ""))
	}
	return d.answer(ctx, integration.Stored{Integration: i, Version: stored.Version + 1})
}

// resume returns the ops that begin the schedule of an enabled integration again if it was paused.
func resume(c store.Company, i *integration.Integration) []store.Op {
	if !i.Enabled {
		return nil
	}
	return i.Reschedule(c, i.UpdatedAt)
}

func href(ctx context.Context, format string, args ...any) string {
	return web.CompanyPath(ctx) + fmt.Sprintf(format, args...)
}
