package integrations

import (
	"context"
	"fmt"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// RecoveryProgress shows a recovery and what became of its deliveries.
type RecoveryProgress struct {
	recovery.Recovery
	Counts RecoveryCounts `json:"counts" doc:"what became of the deliveries of the window"`
}

// RecoveryCounts counts the deliveries of a recovery's window. Delivered, failed, held and waiting count those that this
// recovery sent again last. They add up to less than requested if a later recovery took some over, or some have expired.
type RecoveryCounts struct {
	Matched   int  `json:"matched" doc:"deliveries to the endpoint in the window, whatever became of them" format:"int32"`
	Requested int  `json:"requested" doc:"deliveries that the recovery has sent again or put into the queue so far" format:"int32"`
	Delivered int  `json:"delivered" doc:"those of requested that the endpoint accepted" format:"int32"`
	Failed    int  `json:"failed" doc:"those of requested whose last attempt failed, or that the endpoint refused for good" format:"int32"`
	Held      int  `json:"held" doc:"those of requested that are held, because their endpoint may no longer receive events" format:"int32"`
	Waiting   int  `json:"waiting" doc:"those of requested that wait for an attempt" format:"int32"`
	Complete  bool `json:"complete" doc:"false: the window has more deliveries than are counted in one answer, so all counts but requested are too low"`
}

// maxCounted bounds the pages of deliveries that are read to count a recovery.
const maxCounted = 10

type recoveryInput struct {
	ProviderInput
	web.IfNoneMatch
	Recovery string `path:"recoveryId" maxLength:"64" doc:"The recovery's id"`
}

func (d Deps) getRecovery(ctx context.Context, in *recoveryInput) (*web.Tagged[RecoveryProgress], error) {
	if err := d.Connectors.Knows(ctx, web.Tenant(ctx), in.Provider); err != nil {
		return nil, err
	}
	missing := fmt.Sprintf("%s has no recovery with this id", in.Provider)
	if !id.Valid(in.Recovery) {
		return nil, fault.New(fault.NotFound, missing)
	}
	var stored recovery.Stored
	if _, err := web.Tenant(ctx).Get(ctx, recovery.Key(in.Recovery), &stored); err != nil {
		return nil, store.Fault(err, missing)
	}
	if stored.Provider != in.Provider {
		return nil, fault.New(fault.NotFound, missing)
	}
	counts, err := countRecovery(ctx, web.Tenant(ctx), stored)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	shown := RecoveryProgress{Recovery: stored.Recovery, Counts: counts}
	return web.RespondContent(in.IfNoneMatch, shown)
}

// countRecovery counts the deliveries of a recovery's window.
func countRecovery(ctx context.Context, c store.Company, r recovery.Stored) (RecoveryCounts, error) {
	counts := RecoveryCounts{Requested: r.Recovered}
	q := r.Window()
	for range maxCounted {
		page, err := c.Query(ctx, q)
		if err != nil {
			return counts, err
		}
		for _, item := range page.Items {
			if delivery.EndpointOf(item.Key) != r.Provider {
				continue
			}
			var one struct {
				State       delivery.State `json:"state"`
				Recovery    string         `json:"recovery"`
				Incarnation string         `json:"incarnation"`
			}
			if err := delivery.DecodeHead(item.Body, &one); err != nil {
				return counts, err
			}
			if one.Incarnation != r.Incarnation {
				continue
			}
			counts.Matched++
			if one.Recovery == r.ID {
				counts.add(one.State)
			}
		}
		if q.After = page.Next; q.After == "" {
			counts.Complete = true
			return counts, nil
		}
	}
	return counts, nil
}

// add counts a delivery that the recovery sent again.
func (c *RecoveryCounts) add(s delivery.State) {
	switch s {
	case delivery.Delivered:
		c.Delivered++
	case delivery.Scheduled, delivery.Waiting:
		c.Waiting++
	case delivery.Held:
		c.Held++
	case delivery.Failed, delivery.Dead:
		c.Failed++
	}
}
