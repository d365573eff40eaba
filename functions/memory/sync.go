package memory

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/syncrequest"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// SyncRequest holds the optional body of a sync.
type SyncRequest struct {
	Mode   string `json:"mode,omitempty" enum:"incremental,full" doc:"incremental if absent; full fetches everything again, not only what changed since the last run, and removes what the provider no longer has"`
	DryRun bool   `json:"dryRun,omitempty" doc:"only preview, as in the sandbox, even if the connector is certified"`
}

type syncInput struct {
	Provider string       `path:"provider" maxLength:"64" doc:"a provider that can be synced: github, linear, http or feed" example:"feed"`
	Body     *SyncRequest `required:"false"`
}

type runOutput struct {
	Location string `header:"Location" doc:"the run's path"`
	Body     syncrun.Run
}

// maxTries bounds how often a write is retried after a concurrent change to an item that it depends on.
const maxTries = 10

// settled repeats do while it returns store.ErrConflict, at most maxTries times.
func settled(do func() (syncrun.Run, error)) (run syncrun.Run, err error) {
	for range maxTries {
		if run, err = do(); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return run, err
}

func (d Deps) syncMemory(ctx context.Context, in *syncInput) (*runOutput, error) {
	body := SyncRequest{}
	if in.Body != nil {
		body = *in.Body
	}
	c := web.Tenant(ctx)
	run, err := settled(func() (syncrun.Run, error) { return d.request(ctx, c, in.Provider, body) })
	return &runOutput{Location: web.CompanyPath(ctx) + "/memory/syncs/" + run.ID, Body: run}, err
}

// request commits a run. It returns store.ErrConflict if the integration, which determines the run's mode, or the provider's
// slot has changed since it was read.
func (d Deps) request(ctx context.Context, c store.Company, provider string, body SyncRequest) (syncrun.Run, error) {
	p := syncrequest.Planner{Company: c, Connectors: d.Connectors, By: web.CallerOf(ctx).UserID, Now: d.Now().UTC()}
	run, ops, err := p.Plan(ctx, syncrequest.Request{Provider: provider, Full: body.Mode == "full", DryRun: body.DryRun})
	if err != nil {
		return syncrun.Run{}, err
	}
	return run, store.Fault(c.Commit(ctx, ops...), "")
}

type runInput struct {
	Run string `path:"runId" maxLength:"64" doc:"The run's id"`
}

type runBody struct{ Body syncrun.Run }

func getSync(ctx context.Context, in *runInput) (*runBody, error) {
	record, _, err := loadRun(ctx, in.Run)
	return &runBody{record.Run}, err
}

// cancelSync requests that the worker stops at the next page. It ends a run that no worker has started.
func (d Deps) cancelSync(ctx context.Context, in *runInput) (*runBody, error) {
	run, err := settled(func() (syncrun.Run, error) { return d.cancel(ctx, web.Tenant(ctx), in.Run) })
	return &runBody{run}, err
}

func (d Deps) cancel(ctx context.Context, c store.Company, runID string) (syncrun.Run, error) {
	record, version, err := loadRun(ctx, runID)
	if err != nil {
		return syncrun.Run{}, err
	}
	if record.State.Ended() {
		return syncrun.Run{}, fault.Newf(fault.Conflict, "the run has ended: %s", record.State)
	}
	record.Work.CancelRequested = true
	record.Work.Ask(d.Now())
	ops := []store.Op{}
	if record.State == syncrun.Requested {
		now := d.Now().UTC()
		record.State, record.FinishedAt, record.Work = syncrun.Cancelled, &now, syncrun.Work{}
		if ops, err = release(ctx, c, record.Run); err != nil {
			return syncrun.Run{}, err
		}
	}
	op := c.Replace(syncrun.Key(record.ID), syncrun.Entity, version, record).Until(record.RequestedAt.Add(syncrun.Kept))
	return record.Run, store.Fault(c.Commit(ctx, append(ops, op)...), "")
}

// confirmSync lets a run go on that waits for a user before it removes items.
func (d Deps) confirmSync(ctx context.Context, in *runInput) (*runBody, error) {
	run, err := settled(func() (syncrun.Run, error) { return d.confirm(ctx, web.Tenant(ctx), in.Run) })
	return &runBody{run}, err
}

func (d Deps) confirm(ctx context.Context, c store.Company, runID string) (syncrun.Run, error) {
	record, version, err := loadRun(ctx, runID)
	if err != nil {
		return syncrun.Run{}, err
	}
	now := d.Now().UTC()
	until, waits := record.Waits()
	if !waits || record.Work.CancelRequested || !now.Before(until) {
		return syncrun.Run{}, fault.Newf(fault.Conflict, "the run does not wait for a confirmation: it is %s", record.State)
	}
	removal := *record.Removal
	removal.ConfirmedBy, removal.ConfirmedAt, removal.Until = web.CallerOf(ctx).UserID, &now, nil
	record.State, record.Error, record.Removal = syncrun.Running, "", &removal
	record.Work.Ask(now)
	op := c.Replace(syncrun.Key(record.ID), syncrun.Entity, version, record).Until(record.RequestedAt.Add(syncrun.Kept))
	return record.Run, store.Fault(c.Commit(ctx, op), "")
}

// release returns the write that frees the provider's slot if the run holds it. A deleted integration has no slot.
func release(ctx context.Context, c store.Company, run syncrun.Run) ([]store.Op, error) {
	var slot syncrun.Slot
	item, err := c.Get(ctx, syncrun.SlotKey(run.Provider), &slot)
	if errors.Is(err, store.ErrNotFound) || err == nil && slot.Run != run.ID {
		return nil, nil
	}
	slot.Run = ""
	return []store.Op{c.Replace(syncrun.SlotKey(run.Provider), syncrun.SlotEntity, item.Version, slot).Quietly()}, store.Fault(err, "")
}

func loadRun(ctx context.Context, runID string) (syncrun.StoredRun, int64, error) {
	var record syncrun.StoredRun
	item, err := get(ctx, syncrun.Key, runID, "sync run", &record)
	if err != nil {
		return syncrun.StoredRun{}, 0, err
	}
	return record, item.Version, web.Reach(ctx, record.Provider)
}
