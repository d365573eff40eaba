package memory

import (
	"context"
	"errors"
	"fmt"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/id"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/syncrun"
	"orgops/shared/web"
)

// SyncRequest is the optional body of a sync.
type SyncRequest struct {
	Mode   string `json:"mode,omitempty" nullable:"true" enum:"incremental,full" default:"incremental" doc:"full fetches everything again, not only what changed since the last run"`
	DryRun bool   `json:"dryRun,omitempty" nullable:"true" doc:"preview as in the sandbox, though the connector is certified"`
}

type syncInput struct {
	Provider string       `path:"provider" maxLength:"64" doc:"one that syncs: feed" example:"feed"`
	Body     *SyncRequest `required:"false"`
}

type runOutput struct {
	Location string `header:"Location" doc:"the run"`
	Body     syncrun.Run
}

func (d Deps) syncMemory(ctx context.Context, in *syncInput) (*runOutput, error) {
	c := web.Tenant(ctx)
	i, version, err := d.syncable(ctx, c, in.Provider)
	if err != nil {
		return nil, err
	}
	now := d.Now().UTC()
	run := syncrun.Run{
		ID: id.New(), Provider: in.Provider, Mode: syncrun.Sandbox, State: syncrun.Requested,
		RequestedBy: web.CallerOf(ctx).UserID, RequestedAt: now,
	}
	dryRun := in.Body != nil && in.Body.DryRun
	if i.Allows(integration.SyncPull, now) && !dryRun {
		run.Mode = syncrun.Live
	}
	run.Full = in.Body != nil && in.Body.Mode == "full"
	if err := request(ctx, c, run, version); err != nil {
		return nil, err
	}
	return &runOutput{Location: location(c, run), Body: run}, nil
}

// syncable is the provider's integration, if it is one that can be synced.
func (d Deps) syncable(ctx context.Context, c store.Company, provider string) (integration.Integration, int64, error) {
	conn, err := d.Connectors.Find(provider)
	if err != nil {
		return integration.Integration{}, 0, err
	}
	if _, ok := conn.(connector.Source); !ok {
		return integration.Integration{}, 0, fault.Newf(fault.Conflict, "%s tells of its changes by webhook; it cannot be fetched", provider)
	}
	i, version, err := integration.Load(ctx, c, provider)
	if err != nil {
		return integration.Integration{}, 0, err
	}
	if !i.Enabled {
		return integration.Integration{}, 0, fault.Newf(fault.Conflict, "integration %q is disabled; enable it first", provider)
	}
	return i, version, nil
}

// request commits a run together with the provider's slot, so that there is one run at a time, and only while the
// integration is what the run's mode was taken from.
func request(ctx context.Context, c store.Company, run syncrun.Run, integrationVersion int64) error {
	key := syncrun.SlotKey(run.Provider)
	var slot syncrun.Slot
	item, err := c.Get(ctx, key, &slot)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Fault(err, "")
	}
	if slot.Run != "" {
		return fault.Newf(fault.SyncRunning, "run %s of %s has not ended; wait for it or cancel it", slot.Run, run.Provider)
	}
	slot.Run = run.ID
	err = c.Commit(ctx,
		c.Create(syncrun.Key(run.ID), syncrun.Entity, syncrun.Record{Run: run}).Until(run.RequestedAt.Add(syncrun.Kept)),
		c.Save(key, syncrun.SlotEntity, item.Version, slot).Silent(),
		c.Unchanged(integration.Key(run.Provider), integrationVersion),
	)
	return store.Fault(err, "")
}

func location(c store.Company, run syncrun.Run) string {
	return fmt.Sprintf("/companies/%s/memory/syncs/%s", c.ID(), run.ID)
}

type runInput struct {
	Run string `path:"run" maxLength:"64" doc:"The run's id"`
}

type runBody struct{ Body syncrun.Run }

func getSync(ctx context.Context, in *runInput) (*runBody, error) {
	record, _, err := loadRun(ctx, in.Run)
	return &runBody{record.Run}, err
}

// cancelSync asks the worker to stop at the next page; a run that no worker has begun ends here.
func (d Deps) cancelSync(ctx context.Context, in *runInput) (*runBody, error) {
	c := web.Tenant(ctx)
	record, version, err := loadRun(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	if record.State.Ended() {
		return nil, fault.Newf(fault.Conflict, "the run has ended: %s", record.State)
	}
	record.Work.CancelRequested = true
	ops := []store.Op{}
	if record.State == syncrun.Requested {
		now := d.Now().UTC()
		record.State, record.FinishedAt, record.Work = syncrun.Cancelled, &now, syncrun.Work{}
		var slot syncrun.Slot
		item, err := c.Get(ctx, syncrun.SlotKey(record.Provider), &slot)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		slot.Run = ""
		ops = append(ops, c.Replace(syncrun.SlotKey(record.Provider), syncrun.SlotEntity, item.Version, slot).Silent())
	}
	op := c.Replace(syncrun.Key(record.ID), syncrun.Entity, version, record).Until(record.RequestedAt.Add(syncrun.Kept))
	if err := c.Commit(ctx, append(ops, op)...); err != nil {
		return nil, store.Fault(err, "")
	}
	return &runBody{record.Run}, nil
}

func loadRun(ctx context.Context, runID string) (syncrun.Record, int64, error) {
	var record syncrun.Record
	item, err := get(ctx, syncrun.Key, runID, "sync run", &record)
	return record, item.Version, err
}
