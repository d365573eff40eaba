package integrations

import (
	"context"
	"errors"
	"fmt"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// deleteIntegration removes the integration, its secrets and reports, and its connector's state between syncs.
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
	for key, entity := range map[string]string{
		integration.CredentialKey(in.Provider): integration.CredentialEntity,
		integration.ReportsKey(in.Provider):    integration.ReportsEntity,
		syncrun.SlotKey(in.Provider):           syncrun.SlotEntity,
	} {
		op, there, err := removal(ctx, c, key, entity)
		if err != nil {
			return nil, err
		}
		if there {
			ops = append(ops, op)
		}
	}
	return nil, store.Fault(c.Commit(ctx, ops...), "")
}

func removal(ctx context.Context, c store.Company, key, entity string) (op store.Op, there bool, err error) {
	item, err := c.Get(ctx, key, nil)
	if errors.Is(err, store.ErrNotFound) {
		return store.Op{}, false, nil
	}
	return c.Delete(key, entity, item.Version).Quietly(), err == nil, store.Fault(err, "")
}

func (d Deps) enableIntegration(ctx context.Context, in *ProviderInput) (*changedOutput, error) {
	return d.change(ctx, in.Provider, func(i *integration.Integration) bool {
		was := i.Enabled
		i.Enabled, i.Disabled = true, nil
		return !was
	})
}

func (d Deps) disableIntegration(ctx context.Context, in *ProviderInput) (*changedOutput, error) {
	return d.change(ctx, in.Provider, func(i *integration.Integration) bool {
		was := i.Enabled
		i.Enabled, i.Disabled = false, &integration.Disabled{Reason: integration.DisabledManually, At: d.Now().UTC()}
		return was
	})
}

// change edits and writes an integration. It writes nothing if edit returns false.
func (d Deps) change(ctx context.Context, provider string, edit func(*integration.Integration) bool) (*changedOutput, error) {
	stored, err := d.load(ctx, provider)
	if err != nil {
		return nil, err
	}
	i := stored.Integration
	if !edit(&i) {
		return d.answer(ctx, stored)
	}
	i.UpdatedAt = d.Now().UTC()
	c := web.Tenant(ctx)
	if err := c.Commit(ctx, c.Replace(integration.Key(provider), integration.Entity, stored.Version, i)); err != nil {
		return nil, store.Fault(err, "")
	}
	return d.answer(ctx, integration.Stored{Integration: i, Version: stored.Version + 1})
}

func href(ctx context.Context, format string, args ...any) string {
	return web.CompanyPath(ctx) + fmt.Sprintf(format, args...)
}
