package assessment

import (
	"fmt"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Thresholds of the advice on endpoints. After five days of failures the service disables an endpoint.
const (
	lastChance  = 4 * day
	manyFailed  = 0.05
	mostFailed  = 0.5
	deliveryLog = "list-integration-deliveries"
)

// lastTest advises a sample event for an endpoint that the service is about to disable.
func lastTest(v view, p string, i projection.Integration) (Recommendation, bool) {
	failing := v.age(i.FailingSince)
	if !i.Enabled || !isEndpoint(i) || i.FailingSince.IsZero() || failing < lastChance {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Test " + v.called(p) + " before it is disabled", Priority: recommendation.P1, FirstSeenAt: i.FailingSince.Add(lastChance),
		Operation: v.operation("test-integration", p),
		Rationale: fmt.Sprintf("No delivery has reached %s for %s, and after five days it is disabled, unless a policy forbids that. A sample event shows its answer at once.", v.called(p), phrase.Span(failing)),
		Evidence:  []Evidence{{Name: "failing", Value: days(failing), Unit: "days", At: i.FailingSince, Href: v.integrationHref(p)}},
	}, true
}

// reduceFailures advises a look at an endpoint that refuses some deliveries and accepts others.
func reduceFailures(v view, p string, i projection.Integration) (Recommendation, bool) {
	n := v.Deliveries.Endpoints[p].Hourly.Since(v.asOf.Add(-day))
	if !i.Enabled || !isEndpoint(i) || n.Total() < leastForRatio || n.FailureRatio() < manyFailed || v.failsAll(i) {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Reduce the failures of " + v.called(p), Priority: recommendation.P3, FirstSeenAt: v.Deliveries.Endpoints[p].Hourly.Start,
		Operation: v.operation(deliveryLog, p),
		Rationale: fmt.Sprintf("%.0f %% of the attempts to %s failed in 24 hours. Each failure delays a delivery.", 100*n.FailureRatio(), v.called(p)),
		Evidence: []Evidence{
			{Name: "failed attempts in 24 hours", Value: float64(n.Failed), Unit: "attempts", Href: v.integrationHref(p) + "/deliveries"},
			{Name: "attempts in 24 hours", Value: float64(n.Total()), Unit: "attempts", Href: v.integrationHref(p) + "/deliveries"},
		},
	}
	if n.FailureRatio() >= mostFailed {
		r.Priority = recommendation.P2
	}
	return r, true
}

// failsAll reports whether the rule for failing endpoints advises on the endpoint.
func (v view) failsAll(i projection.Integration) bool {
	return !i.FailingSince.IsZero() && v.age(i.FailingSince) >= failingAdvice
}

// drainBacklog advises a look at deliveries that have waited long although their endpoint answers.
func drainBacklog(v view) []Recommendation {
	oldest, waiting := v.Deliveries.Pending.Oldest()
	if !waiting || v.age(oldest.Add(bucketOfPending)) < delayFail {
		return nil
	}
	p := v.most(func(e projection.Endpoint) int { return e.Pending })
	if i, ok := v.Integrations[p]; !ok || v.failsAll(i) || !i.Allows(v.asOf, integration.EventDeliver) {
		return nil
	}
	o := v.operation(deliveryLog, p)
	o.Href += "?state=scheduled"
	return []Recommendation{{
		Title: "Look at the deliveries that wait for " + v.called(p), Priority: recommendation.P2, FirstSeenAt: oldest.Add(bucketOfPending + delayFail), Operation: o,
		Subject:   timeline.Reference{Type: "integration", ID: p},
		Rationale: fmt.Sprintf("The oldest waiting delivery is %s late.", phrase.Span(v.age(oldest.Add(bucketOfPending)))),
		Evidence: []Evidence{
			{Name: "waiting deliveries", Value: float64(v.Deliveries.Pending.Total()), Unit: "deliveries", At: oldest, Href: v.integrationHref(p) + "/deliveries?state=scheduled"},
		},
	}}
}

// call returns an operation that is not on an integration.
func (v view) call(operation, method, path string) *Operation {
	return &Operation{Remedy: finding.Remedy{Operation: operation, Method: method, Href: v.href(path)}}
}
