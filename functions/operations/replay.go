package operations

import (
	"context"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recovery"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// ReplayRequest sets which dead letters to send again.
type ReplayRequest struct {
	Since    time.Time  `json:"since" doc:"replay events from this time on; deliveries are kept for 30 days" example:"2026-01-01T00:00:00Z"`
	Until    *time.Time `json:"until,omitempty" doc:"replay events up to this time; default: now"`
	Provider string     `json:"provider,omitempty" maxLength:"64" doc:"replay to this endpoint alone; default: every endpoint with dead letters" example:"webhook"`
}

type replayInput struct{ Body ReplayRequest }

// Replay answers a replay.
type Replay struct {
	Recoveries []recovery.Recovery `json:"recoveries" nullable:"false" doc:"a recovery for each endpoint; get-integration-recovery tells what becomes of it. None if no endpoint has dead letters"`
}

type replayOutput struct{ Body Replay }

// replayDeadLetters commits a recovery for each endpoint, in commits that the store takes. After an error a repeat requests the rest, and a
// second recovery of some endpoints, which finds nothing to send. The dispatcher queues them when it receives the changes, and the retrier
// processes the window.
func (d Deps) replayDeadLetters(ctx context.Context, in *replayInput) (*replayOutput, error) {
	now := d.Now().UTC()
	since, until, err := recovery.Clamp(in.Body.Since, in.Body.Until, now)
	if err != nil {
		return nil, err
	}
	facts, err := d.Reader.Read(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, store.Fault(err, "")
	}
	endpoints, err := replayed(facts.Context, in.Body.Provider)
	if err != nil {
		return nil, err
	}
	out := &replayOutput{Replay{Recoveries: []recovery.Recovery{}}}
	var ops []store.Op
	for _, provider := range endpoints {
		r := recovery.Recovery{
			ID: id.New(), Provider: provider, Since: since, Until: until, Only: delivery.Dead, State: recovery.Requested,
			RequestedBy: web.CallerOf(ctx).UserID, RequestedAt: now,
		}
		out.Body.Recoveries = append(out.Body.Recoveries, r)
		ops = append(ops, r.Request(web.Tenant(ctx), facts.Incarnations[provider]))
	}
	for some := range slices.Chunk(ops, store.MaxOps/2) { // with room for the audit record
		if err := web.Tenant(ctx).Commit(ctx, some...); err != nil {
			return nil, store.Fault(err, "")
		}
	}
	return out, nil
}

// replayed returns the endpoint that was asked for, or those with dead letters. Dead letters of a deleted endpoint stay.
func replayed(p projection.Context, asked string) ([]string, error) {
	if asked != "" {
		if i, ok := p.Integrations[asked]; !ok || !i.Has(integration.EventDeliver) {
			return nil, fault.Refuse([]fault.FieldError{{Pointer: "/provider", Detail: "is no webhook integration of this company"}})
		}
		return []string{asked}, nil
	}
	var all []string
	for provider, e := range p.Deliveries.Endpoints {
		if i := p.Integrations[provider]; e.Dead.Total() > 0 && i.Has(integration.EventDeliver) {
			all = append(all, provider)
		}
	}
	slices.Sort(all)
	return all, nil
}
