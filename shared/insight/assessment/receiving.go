package assessment

import (
	"fmt"
	"time"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/insight/projection"
)

// received counts the webhooks of an integration within a day, since it was last changed: those that took effect, and the others.
func (v view) received(provider string) (effective, ineffective int64) {
	i, r := v.Integrations[provider], v.Results[provider]
	if !i.Allows(v.asOf, integration.InboundReceive) {
		return 0, 0
	}
	from := v.asOf.Add(-day)
	if i.ChangedAt.After(from) {
		from = i.ChangedAt
	}
	if !r.Taken.Last().Before(from.Truncate(time.Millisecond)) { // its hours begin before
		effective = r.Taken.Since(from)
	}
	if !r.Idle.At.Before(from.Truncate(time.Millisecond)) {
		ineffective = r.Idle.Count
	}
	return effective, ineffective
}

// receives reports whether an integration has received a webhook within a day.
func (v view) receives() bool {
	for _, p := range v.providers {
		if effective, ineffective := v.received(p); effective+ineffective > 0 {
			return true
		}
	}
	return false
}

func webhookEffect(v view) verdict {
	found := verdict{status: Pass, reason: "what was received within a day took effect, or was too little to tell"}
	for _, p := range v.providers {
		effective, ineffective := v.received(p)
		if effective+ineffective == 0 {
			continue
		}
		r := v.Results[p]
		found.evidence = append(found.evidence, Evidence{
			Name: "webhooks of " + p + " without effect", Value: float64(ineffective), Unit: "webhooks", At: r.Idle.At, Href: v.integrationHref(p),
		})
		if effective == 0 && ineffective >= arrival.Telling && found.status == Pass {
			found.status, found.remedy = Warn, v.remedy("get-integration", p)
			found.reason = fmt.Sprintf("none of the %d webhooks that %s received within a day took effect; the reason of most: %s", ineffective, v.called(p), r.Idle.Why)
		}
	}
	return found
}

// checkEffect advises a look at an integration whose webhooks are accepted and change nothing.
func checkEffect(v view, p string, i projection.Integration) (Recommendation, bool) {
	effective, ineffective := v.received(p)
	if effective > 0 || ineffective < arrival.Telling {
		return Recommendation{}, false
	}
	r := v.Results[p]
	first := i.ChangedAt
	if r.Taken.Last().After(first) {
		first = r.Taken.Last()
	}
	return Recommendation{
		Title: "Look at why the webhooks of " + v.called(p) + " take no effect", Priority: recommendation.P2, FirstSeenAt: first,
		Operation: v.operation("get-integration", p),
		Rationale: fmt.Sprintf("%s received %d webhooks within a day, and none changed anything. The reason of most: %s. "+
			"Check the configuration, the mapping and the policies.", p, ineffective, r.Idle.Why),
		Evidence: []Evidence{{
			Name: "webhooks without effect", Value: float64(ineffective), Unit: "webhooks", At: r.Idle.At, Href: v.integrationHref(p),
		}},
	}, true
}
