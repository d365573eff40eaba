// Package syncrequest plans requests for syncs. A provider has one run at a time. The run's mode follows from the state of the
// integration.
package syncrequest

import (
	"cmp"
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

// Planner plans requests for a company.
type Planner struct {
	Company    store.Company
	Connectors connector.Registry
	By         string // the user who asks
	Now        time.Time
}

// Request says what to sync.
type Request struct {
	Provider string
	Full     bool
	DryRun   bool // only preview, even if the integration is certified
}

// Plan returns a run and the writes that request it together with the provider's slot. Their commit returns
// store.ErrConflict if the integration or the slot has changed since Plan read them; plan again then. Plan returns
// fault.SyncRunning while another run of the provider has not ended.
func (p Planner) Plan(ctx context.Context, r Request) (syncrun.Run, []store.Op, error) {
	i, version, err := p.syncable(ctx, r.Provider)
	if err != nil {
		return syncrun.Run{}, nil, err
	}
	slot, slotVersion, err := syncrun.FreeSlot(ctx, p.Company, r.Provider)
	if err != nil {
		return syncrun.Run{}, nil, err
	}
	run := syncrun.Run{
		ID: id.New(), Provider: r.Provider, Mode: syncrun.Sandbox, Full: r.Full, State: syncrun.Requested,
		RequestedBy: p.By, RequestedAt: p.Now,
	}
	if i.Allows(integration.SyncPull, p.Now) && !r.DryRun {
		run.Mode = syncrun.Live
	}
	c, stored := p.Company, syncrun.StoredRun{Run: run, Incarnation: i.Incarnation, Watched: i.FindsSyncs(p.Now)}
	return run, append(syncrun.Begin(c, stored, slot, slotVersion), c.Unchanged(integration.Key(r.Provider), version)), nil
}

// syncable returns the provider's integration if it can be synced.
func (p Planner) syncable(ctx context.Context, provider string) (integration.Integration, int64, error) {
	conn, err := p.Connectors.Find(ctx, p.Company, provider)
	if err != nil {
		return integration.Integration{}, 0, err
	}
	if _, ok := conn.(connector.Source); !ok {
		return integration.Integration{}, 0, fault.Newf(fault.Conflict, "%s sends its changes by webhook and cannot be synced", provider)
	}
	i, version, err := integration.Load(ctx, p.Company, provider)
	if err := cmp.Or(err, i.Usable()); err != nil {
		return integration.Integration{}, 0, err
	}
	if !i.Enabled {
		return integration.Integration{}, 0, fault.Newf(fault.Conflict, "integration %q is disabled; enable it first", provider)
	}
	if missing := connector.Missing(conn, i.Config, i.StoredCredentials()); len(missing) > 0 {
		return integration.Integration{}, 0, fault.Newf(fault.Conflict, "a sync of %s needs the credential %s; store it first", provider, missing[0])
	}
	return i, version, nil
}
