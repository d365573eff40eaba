package assessment

import (
	"fmt"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
)

// The objective is that 99 % of delivery attempts are answered 2xx. A burn rate of 1 uses up exactly the allowed 1 % of
// failures. The pairs of windows and thresholds come from Google's SRE workbook, chapter "Alerting on SLOs".
const (
	objective       = 0.99
	leastForRatio   = 20 // observations that a ratio needs
	delayWarn       = 10 * time.Minute
	delayFail       = 2 * time.Hour
	deadFail        = 20
	failingWarn     = day
	bucketOfPending = 5 * time.Minute // the step of deliveries up to three hours old; it is longer for older ones
)

// burning pairs a long and a short window. It fires when the burn rate of both reaches the threshold: the long window shows
// that many attempts failed, the short window shows that attempts still fail.
type burning struct {
	short, long window
	threshold   float64
	status      Status
}

type window struct {
	length time.Duration
	name   string
}

func burnings() [3]burning {
	return [3]burning{
		{window{5 * time.Minute, "5 minutes"}, window{time.Hour, "1 hour"}, 14.4, Fail},
		{window{30 * time.Minute, "30 minutes"}, window{6 * time.Hour, "6 hours"}, 6, Fail},
		{window{6 * time.Hour, "6 hours"}, window{3 * day, "3 days"}, 1, Warn},
	}
}

// attempts returns the counts of the window of length d that ends at asOf. Up to 6 hours it counts in steps of 5 minutes,
// beyond in steps of an hour, so the counts may begin up to one step earlier.
func (v view) attempts(d time.Duration) projection.Counts {
	if d <= 6*time.Hour {
		return v.Deliveries.Recent.Since(v.asOf.Add(-d))
	}
	return v.Deliveries.Hourly.Since(v.asOf.Add(-d))
}

func burnRate(c projection.Counts) float64 { return c.FailureRatio() / (1 - objective) }

func deliveries(v view) verdict {
	provider, burns := v.firstEndpoint(), false
	href := v.logHref(provider)
	found := verdict{evidence: make([]Evidence, 0, 8)}
	for _, b := range burnings() {
		short, long := v.attempts(b.short.length), v.attempts(b.long.length)
		found.evidence = append(found.evidence,
			Evidence{Name: "attempts in " + b.long.name, Value: float64(long.Total()), Unit: "attempts", Href: href},
			Evidence{Name: "burn rate over " + b.long.name, Value: round(burnRate(long)), Unit: "× the allowed failures", Href: href})
		if b.status == Fail { // the last pair's short window is the previous pair's long window, which is listed already
			found.evidence = append(found.evidence,
				Evidence{Name: "burn rate over " + b.short.name, Value: round(burnRate(short)), Unit: "× the allowed failures", Href: href})
		}
		if long.Total() < leastForRatio {
			continue
		}
		if !burns && burnRate(short) >= b.threshold && burnRate(long) >= b.threshold {
			burns, found.status = true, b.status
			found.reason = fmt.Sprintf("%.1f %% of %d attempts failed within %s, and failures continue: %.1f times the 1 %% that the objective allows",
				100*long.FailureRatio(), long.Total(), b.long.name, burnRate(long))
			if provider != "" {
				found.remedy = v.remedy(deliveryLog, provider)
			}
		}
	}
	longest := v.attempts(3 * day)
	switch {
	case burns:
	case longest.Total() < leastForRatio:
		found.status = Unknown
		found.reason = fmt.Sprintf("%s in 3 days; a ratio needs %d", phrase.Plural(int(longest.Total()), "attempt", "attempts"), leastForRatio)
	default:
		found.status = Pass
		found.reason = "failures stay within the 1 % that the objective allows"
	}
	return found
}

// logHref returns where the API shows the deliveries to an endpoint. After the last endpoint was deleted ("") that is the
// list of integrations.
func (v view) logHref(provider string) string {
	if provider == "" {
		return v.href("/integrations")
	}
	return v.integrationHref(provider) + "/deliveries"
}

// firstEndpoint returns the webhook integration that has been failing longest, or else the first by name; "" for none.
func (v view) firstEndpoint() string {
	first := ""
	var since time.Time
	for _, p := range v.providers {
		i := v.Integrations[p]
		if !isEndpoint(i) {
			continue
		}
		if first == "" || !i.FailingSince.IsZero() && (since.IsZero() || i.FailingSince.Before(since)) {
			first, since = p, i.FailingSince
		}
	}
	return first
}

func delay(v view) verdict {
	oldest, waiting := v.Deliveries.Pending.Oldest()
	if !waiting {
		return verdict{status: Pass, reason: "no delivery waits", evidence: []Evidence{{Name: "waiting deliveries", Unit: "deliveries"}}}
	}
	late := v.age(oldest.Add(bucketOfPending))
	provider := v.most(func(e projection.Endpoint) int { return e.Pending })
	found := verdict{
		status: Pass,
		reason: fmt.Sprintf("the oldest waiting delivery is %s late; %s is a warning, %s a failure", phrase.Span(late), phrase.Span(delayWarn), phrase.Span(delayFail)),
		evidence: []Evidence{
			{Name: "waiting deliveries", Value: float64(v.Deliveries.Pending.Total()), Unit: "deliveries", Href: v.integrationHref(provider) + "/deliveries?state=scheduled"},
			{Name: "delay of the oldest", Value: late.Minutes(), Unit: "minutes", At: oldest},
		},
	}
	found.status = grade(late, delayWarn, delayFail)
	if found.status != Pass {
		found.remedy = v.remedy("list-integration-deliveries", provider)
	}
	return found
}

// most returns the configured endpoint with the highest count, or firstEndpoint when all counts are zero.
func (v view) most(of func(projection.Endpoint) int) string {
	best, most := v.firstEndpoint(), 0
	for _, p := range v.providers {
		if n := of(v.Deliveries.Endpoints[p]); n > most {
			best, most = p, n
		}
	}
	return best
}

func grade(age, warn, fail time.Duration) Status {
	switch {
	case age >= fail:
		return Fail
	case age >= warn:
		return Warn
	}
	return Pass
}

func deadLetters(v view) verdict {
	total, found := 0, verdict{status: Pass, reason: "there are no dead letters"}
	for _, p := range v.providers {
		e := v.Deliveries.Endpoints[p]
		if n := e.Dead.Total(); n > 0 {
			total += n
			oldest, _ := e.Dead.Oldest()
			found.evidence = append(found.evidence, Evidence{
				Name: "dead letters of " + p, Value: float64(n), Unit: "deliveries", At: oldest, Href: v.integrationHref(p) + "/deliveries?state=dead",
			})
		}
	}
	if total == 0 {
		return found
	}
	found.status = Warn
	if total >= deadFail {
		found.status = Fail
	}
	found.reason = fmt.Sprintf("%s used up all attempts; one is a warning, %d are a failure", phrase.Plural(total, "delivery", "deliveries"), deadFail)
	found.remedy = v.remedy("recover-integration", v.most(func(e projection.Endpoint) int { return e.Dead.Total() }))
	return found
}

func disabled(v view) verdict {
	found := verdict{status: Pass, reason: "no endpoint was disabled by failing, and none has been failing for a day"}
	for _, p := range v.providers {
		i := v.Integrations[p]
		switch {
		case !isEndpoint(i):
		case i.DisabledReason == integration.DisabledGone || i.DisabledReason == integration.DisabledFailing:
			if found.status != Fail {
				found.status, found.remedy = Fail, v.remedy("enable-integration", p)
				found.reason = p + " was disabled: " + whyDisabled(i.DisabledReason)
			}
			found.evidence = append(found.evidence, Evidence{
				Name: p + " is disabled", Value: days(v.age(i.DisabledAt)), Unit: "days", At: i.DisabledAt, Href: v.integrationHref(p),
			})
		case i.Enabled && !i.FailingSince.IsZero() && v.age(i.FailingSince) >= failingWarn:
			if found.status == Pass {
				found.status, found.remedy = Warn, v.remedy("list-integration-deliveries", p)
				found.reason = fmt.Sprintf("no delivery has reached %s for %s; after 5 days it is disabled", v.called(p), phrase.Span(v.age(i.FailingSince)))
			}
			found.evidence = append(found.evidence, Evidence{
				Name: p + " is failing", Value: days(v.age(i.FailingSince)), Unit: "days", At: i.FailingSince, Href: v.integrationHref(p) + "/deliveries?state=scheduled",
			})
		}
	}
	return found
}

func whyDisabled(reason string) string {
	if reason == integration.DisabledGone {
		return "it answered 410 Gone"
	}
	return "no delivery reached it for five days"
}
