package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/rebuild"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
)

// client writes as the route groups do. Its calls have no faults but take their turn with all others.
type client struct {
	w *world
	e *environment
	c store.Company
}

// errEnough ends a client's attempts that conflict.
var errEnough = errors.New("a client's write conflicts again and again")

// settled repeats a write while it conflicts.
func settled(do func() error) error {
	for range 100 {
		if err := do(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return errEnough
}

// receive commits actions with their decisions, as an inbound webhook does.
func (cl client) receive(ctx context.Context, actions []connector.Action) error {
	rules := &engine{real: policyengine.New(time.Now), name: cl.e.name}
	return settled(func() error {
		i, _, err := integration.Load(ctx, cl.c, inbound)
		if err != nil {
			return err
		}
		planner := intake.Planner{Company: cl.c, Integration: i, Engine: rules, Now: time.Now().UTC()}
		var ops []store.Op
		for _, a := range actions {
			planned, err := planner.Plan(ctx, a)
			if err != nil {
				return err
			}
			ops = append(append(ops, policy.Create(cl.c, planned.Decision)), planned.Ops...)
		}
		return cl.c.Commit(ctx, ops...)
	})
}

// edit changes an integration.
func (cl client) edit(ctx context.Context, provider string, change func(*integration.Integration)) error {
	return settled(func() error {
		i, version, err := integration.Load(ctx, cl.c, provider)
		if err != nil {
			return err
		}
		i.UpdatedAt = time.Now().UTC()
		change(&i)
		return cl.c.Commit(ctx, cl.c.Replace(integration.Key(provider), integration.Entity, version, i))
	})
}

// revive enables an endpoint unless it may be sent to. Enabling it would tell every subscriber of the timeline.
func (cl client) revive(ctx context.Context, provider string) error {
	i, _, err := integration.Load(ctx, cl.c, provider)
	if err != nil || i.Enabled && i.State == integration.Certified {
		return err
	}
	return cl.edit(ctx, provider, enable)
}

func disable(i *integration.Integration) {
	i.Enabled, i.Disabled = false, &integration.Disabled{Reason: integration.DisabledManually, At: i.UpdatedAt}
}

func enable(i *integration.Integration) {
	i.Enabled, i.Disabled = true, nil
	certify(i)
}

func certify(i *integration.Integration) {
	i.State, i.SandboxedCause = integration.Certified, ""
	i.Certification = &integration.Certification{
		PassedAt: i.UpdatedAt, ExpiresAt: i.UpdatedAt.Add(integration.CertifiedFor), Ports: slices.Clone(i.Permissions),
	}
}

// recover asks for everything that an endpoint has not got.
func (cl client) recover(ctx context.Context, provider, nonce string) error {
	i, _, err := integration.Load(ctx, cl.c, provider)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	r := recovery.Recovery{
		ID: id.At(now, cl.c.ID(), provider, nonce), Provider: provider, Since: now.Add(-delivery.Kept), Until: now.Add(time.Minute),
		State: recovery.Requested, RequestedAt: now,
	}
	return cl.c.Commit(ctx, r.Request(cl.c, i.Incarnation))
}

// resume ends the pause of an endpoint, if it has one, and asks for what has waited.
func (cl client) resume(ctx context.Context, provider string) error {
	end := &wish{method: http.MethodPost, path: "/integrations/" + provider + "/resume"}
	return cl.insist(ctx, end, http.StatusAccepted)
}

// sync requests a run unless one is going on.
func (cl client) sync(ctx context.Context, nonce string) error {
	return settled(func() error {
		slot, version, err := cl.slot(ctx)
		if err != nil || slot.Run != "" {
			return err
		}
		i, _, err := integration.Load(ctx, cl.c, feed)
		if err != nil {
			return err
		}
		now := time.Now().UTC()
		run := syncrun.Run{ID: id.At(now, cl.c.ID(), "sync", nonce), Provider: feed, Mode: syncrun.Live, State: syncrun.Requested, RequestedAt: now}
		return cl.c.Commit(ctx, syncrun.Begin(cl.c, syncrun.StoredRun{Run: run, Incarnation: i.Incarnation}, slot, version)...)
	})
}

// cancel asks the run that is going on to end.
func (cl client) cancel(ctx context.Context) error {
	return settled(func() error {
		slot, _, err := cl.slot(ctx)
		if err != nil || slot.Run == "" {
			return err
		}
		var run syncrun.StoredRun
		item, err := cl.c.Get(ctx, syncrun.Key(slot.Run), &run)
		if err != nil || run.State != syncrun.Running || run.Work.CancelRequested {
			return err
		}
		run.Work.CancelRequested = true
		return cl.c.Commit(ctx, cl.c.Replace(syncrun.Key(run.ID), syncrun.Entity, item.Version, run).Until(run.RequestedAt.Add(syncrun.Kept)))
	})
}

// rebuild rebuilds the company's context, as the operator's command does. The command may give up, and change nothing.
func (cl client) rebuild(ctx context.Context) error {
	_, err := rebuild.Company(ctx, cl.c, time.Now, func(int) {})
	cl.w.mu.Lock()
	defer cl.w.mu.Unlock()
	switch {
	case err == nil:
		cl.w.rebuilt[cl.c.ID()]++
	case errors.Is(err, rebuild.ErrIdle), errors.Is(err, rebuild.ErrOther), errors.Is(err, rebuild.ErrBusy), errors.Is(err, rebuild.ErrLate):
		return nil
	}
	return err
}

func (cl client) slot(ctx context.Context) (slot syncrun.Slot, version int64, err error) {
	item, err := cl.c.Get(ctx, syncrun.SlotKey(feed), &slot)
	if errors.Is(err, store.ErrNotFound) {
		return slot, 0, nil
	}
	return slot, item.Version, err
}

// actions draws what a provider sends: memories, goals and notes, each at most once.
func (w *world) actions(company string, n int) (all []connector.Action) {
	for i := range n {
		title := fmt.Sprintf("%s %x", company, w.random.Uint32())
		switch w.random.IntN(4) {
		case 0:
			due := time.Now().Add(w.between(time.Minute, 3*time.Hour)).UTC().Truncate(time.Second)
			all = append(all, connector.Action{Port: integration.GoalUpdate, Goal: &goal.Draft{
				ExternalID: fmt.Sprintf("goal-%d-%d", i, w.random.IntN(2)), Title: title, Progress: float64(w.random.IntN(10)) / 10, DueAt: &due, State: goal.Open,
			}})
		case 1:
			all = append(all, connector.Action{Port: integration.TimelineNote, Note: &connector.NoteDraft{
				Title: title, Subject: fmt.Sprintf("note-%d", i),
			}})
		default:
			all = append(all, connector.Action{Port: integration.MemoryUpsert, Memory: &memory.Draft{
				ExternalID: fmt.Sprintf("memory-%d-%d", i, w.random.IntN(3)), Kind: "ticket", Title: title,
			}})
		}
	}
	return all
}
