package shown

import (
	"time"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
)

// Health summarises the recent results of an integration.
type Health struct {
	Status         string         `json:"status" enum:"pass,warn,fail,unknown" doc:"warn: the filter or the transformation of an endpoint has failed since yesterday, or none of the webhooks of the last 24 hours took effect, and there were at least 3; fail: deliveries or syncs fail now, or the newest webhook that the provider has signed was refused; unknown: nothing has come in or gone out in production yet; the inbox shows what came in while sandboxed"`
	LastSuccessAt  *time.Time     `json:"lastSuccessAt,omitempty" doc:"last delivery to it, or live sync of it, that worked; inbound has its webhooks"`
	LastFailureAt  *time.Time     `json:"lastFailureAt,omitempty" doc:"last delivery attempt to it, or live sync of it, that failed"`
	LastItemAt     *time.Time     `json:"lastItemAt,omitempty" doc:"when a memory of the provider last changed, by one of its webhooks or a sync; absent: none since it was configured"`
	FailedSyncs    int            `json:"failedSyncs" doc:"live syncs that failed since the last one that worked, at most 10" format:"int32"`
	SyncSuccess    *float64       `json:"syncSuccessRate" nullable:"true" doc:"share of the newest 10 live syncs that succeeded; null: no live sync has ended" example:"0.9"`
	SuccessRate24h *float64       `json:"successRate24h" nullable:"true" doc:"share of the delivery attempts of the last 24 hours that succeeded; null: no attempts"`
	ItemDelay      *float64       `json:"itemDelaySeconds" nullable:"true" doc:"of what changed at the provider last: the time from that change, as the provider states it, to its record; null: no such change is known since the integration was last enabled, configured or certified" example:"4.2"`
	Inbound        *InboundHealth `json:"inbound,omitempty" doc:"the webhooks that were received; absent for an integration that receives none"`
	DeliveryDelay  *float64       `json:"deliveryDelaySeconds" nullable:"true" doc:"of the newest event that the endpoint accepted: the time from its commit to the first success; null: none since the integration was last enabled, configured or certified" example:"0.12"`
}

func health(facts projection.Context, refusals arrival.Refusals, i integration.Integration, now time.Time) Health {
	provider := i.Provider
	f := facts.Integrations[provider]
	h := Health{
		Status: "unknown", LastSuccessAt: moment(f.LastSuccessAt), LastFailureAt: moment(f.LastFailureAt),
		FailedSyncs: facts.Syncs[provider].FailuresInRow,
	}
	if at := facts.Memory.Providers[provider].LastChangedAt; at.After(i.CreatedAt) {
		h.LastItemAt = moment(at)
	}
	if i.Has(integration.InboundReceive) {
		h.Inbound = inboundHealth(facts.Results[provider].Taken, refusals, i.CreatedAt, now)
	}
	switch {
	case !f.FailingSince.IsZero(), h.Inbound.failing(f.ChangedAt):
		h.Status = "fail"
	case h.Inbound.idle(f.ChangedAt):
		h.Status = "warn"
	case !f.LastSuccessAt.IsZero(), h.LastItemAt != nil, facts.Results[provider].Received.End().After(i.CreatedAt), h.Inbound.accepts():
		h.Status = "pass"
	}
	if day := facts.Deliveries.Endpoints[provider].Hourly.Since(now.Add(-24 * time.Hour)); day.Total() > 0 {
		rate := 1 - day.FailureRatio()
		h.SuccessRate24h = &rate
	}
	if rate, ok := facts.Syncs[provider].SuccessRate(); ok {
		h.SyncSuccess = &rate
	}
	h.ItemDelay = seconds(facts.Results[provider].Received, f.ChangedAt)
	h.DeliveryDelay = seconds(facts.Results[provider].Sent, f.ChangedAt)
	return h
}

// seconds returns a delay in seconds, or nil if it began before the integration was changed: what happened earlier had to wait
// for the change, such as what a first sync finds, and what is sent again after a certification.
func seconds(d projection.Delay, changed time.Time) *float64 {
	if d.Of.IsZero() || d.Of.Before(changed) {
		return nil
	}
	s := float64(d.MS) / 1000
	return &s
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
