package integrations

import (
	"context"
	"time"

	"orgops/functions/integrations/shown"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// resumeWindow limits how far back the events lie whose deliveries a resumption sends, because it reads each delivery of the window. It is
// more than twice the schedule of 3 days. A delivery of an older event was retried by a person, and goes on by its own schedule.
const resumeWindow = 7 * 24 * time.Hour

// resumeIntegration ends the pause of an endpoint and requests a recovery of the deliveries that wait for its end. If attempts have
// failed, the first of them decides whether the others follow.
func (d Deps) resumeIntegration(ctx context.Context, in *ProviderInput) (*recoverOutput, error) {
	endpoint, err := d.endpoint(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	c, now := web.Tenant(ctx), d.Now().UTC()
	pause, _, err := d.Courier.Resume(ctx, c, in.Provider, endpoint.Incarnation)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	by := now.Add(delivery.PauseSpread)
	if pause.Until.After(now) {
		by = pause.Until.UTC().Add(delivery.PauseSpread)
	}
	r := recovery.Recovery{
		ID: id.At(now, c.ID(), in.Provider, endpoint.Incarnation, pause.Until.String()), Provider: in.Provider,
		Since: now.Add(-resumeWindow), Until: now, Only: delivery.Waiting, DueBy: &by,
		State: recovery.Requested, RequestedBy: web.CallerOf(ctx).UserID, RequestedAt: now,
	}
	if err := c.Commit(ctx, r.Request(c, endpoint.Incarnation)); err != nil {
		return nil, store.Fault(err, "")
	}
	return &recoverOutput{r}, nil
}

// Why a delivery waits, without a pause of its endpoint.
const (
	forTime = "schedule"
	forTurn = "backlog"
	forLine = "line"
)

// soon is how late an attempt is at most without a backlog.
const soon = 5 * time.Second

// explain says why a delivery waits, and until when: the end of a pause is the time of its next attempt.
func (shown *DeliverySummary) explain(one delivery.Delivery, pause *delivery.Pause, now time.Time) {
	switch next := one.NextAttemptAt; {
	case one.State == delivery.Waiting:
		shown.WaitingFor = forLine
	case !one.Open() || next == nil:
	case pause != nil && !next.After(pause.Until.Add(delivery.PauseSpread)):
		shown.WaitingFor = string(pause.Reason)
		if next.Before(pause.Until) {
			until := pause.Until.UTC()
			shown.NextAttemptAt = &until
		}
	case now.Sub(*next) > soon:
		shown.WaitingFor = forTurn
	default:
		shown.WaitingFor = forTime
	}
}

// explain shows deliveries, and why they wait. It reads a pause once for each incarnation of an endpoint, if a delivery waits for an
// attempt.
func (d Deps) explain(ctx context.Context, now *standings, all ...delivery.Delivery) ([]DeliverySummary, error) {
	pauses, summaries := map[string]*delivery.Pause{}, make([]DeliverySummary, 0, len(all))
	for _, one := range all {
		one = now.of(ctx, one)
		key := one.Endpoint + "@" + one.Incarnation
		pause, known := pauses[key]
		if one.Open() && !known && len(pauses) < shown.MaxPauses {
			var err error
			if pause, err = d.shown().PauseOf(ctx, one.Endpoint, one.Incarnation); err != nil {
				return nil, err
			}
			pauses[key] = pause
		}
		summary := showAttempt(one)
		summary.explain(one, pause, d.Now())
		summaries = append(summaries, summary)
	}
	return summaries, now.err
}
