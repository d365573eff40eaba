package assessment

import (
	"time"

	"orgops/shared/insight/projection"
)

// Severity says how much a check counts.
type Severity string

// The severities.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	none     Severity = "" // of readiness checks
)

func (s Severity) weight() float64 {
	switch s {
	case Critical:
		return 10
	case High:
		return 7.5
	case Medium:
		return 5
	case Low:
		return 2.5
	}
	return 0
}

const (
	criticalCap   = 49  // highest score while a critical check fails
	leastCoverage = 0.5 // lowest coverage that gives a score
	passFrom      = 80
	warnFrom      = 50
)

// HealthScore reports the platform health score and its checks.
type HealthScore struct {
	ContextVersion int64         `json:"contextVersion" doc:"version of the company context behind the result" example:"1284"`
	AsOf           time.Time     `json:"asOf" doc:"the minute for which the result holds"`
	FormulaVersion string        `json:"formulaVersion" doc:"version of the rules, weights and thresholds" example:"1"`
	Status         Status        `json:"status" enum:"pass,warn,fail,unknown" doc:"pass: 80 or more and no failed check; fail: below 50; warn: any other score; unknown: no score"`
	Score          *float64      `json:"score" nullable:"true" minimum:"0" maximum:"100" doc:"weighted mean of the known checks; at most 49 when a critical check fails; null when coverage is below 0.5" example:"92.5"`
	Cap            *Cap          `json:"cap,omitempty" doc:"the cap that lowers the score; absent if it lowers nothing"`
	LowerBound     float64       `json:"lowerBound" minimum:"0" maximum:"100" doc:"the score if every unknown check failed" example:"80"`
	Coverage       float64       `json:"coverage" minimum:"0" maximum:"1" doc:"weight of the known checks, as a share of the weight of all checks that apply" example:"0.9"`
	Checks         []ScoredCheck `json:"checks" doc:"every check, applicable or not" nullable:"false"`
}

// Cap says why a score is lower than the mean of its checks.
type Cap struct {
	At      float64  `json:"at" doc:"the highest score while a critical check fails" example:"49"`
	Mean    float64  `json:"mean" doc:"the weighted mean of the known checks, which the score would be without the cap" example:"81.8"`
	Because []string `json:"because" nullable:"false" doc:"titles of the critical checks that fail" example:"[\"Webhook deliveries\"]"`
}

// HealthOf computes the platform health score. References begin with path, the company's path.
func HealthOf(p projection.Context, asOf time.Time, path string) HealthScore {
	return health(look(p, asOf, path))
}

func health(v view) HealthScore {
	rules := healthRules()
	h := HealthScore{ContextVersion: v.ContextVersion, AsOf: v.asOf, FormulaVersion: FormulaVersion, Checks: make([]ScoredCheck, 0, len(rules))}
	for _, r := range rules {
		h.Checks = append(h.Checks, r.check(v))
	}
	h.sum()
	return h
}

// sum computes the score, lower bound, coverage, status and lost points from the checks.
func (h *HealthScore) sum() {
	var applicable, known, points float64
	failed, failedCritical, doubtfulCritical := false, false, false
	for _, c := range h.Checks {
		if c.Status == NotApplicable {
			continue
		}
		critical := c.Weight == Critical.weight()
		applicable += c.Weight
		if c.Score == nil {
			doubtfulCritical = doubtfulCritical || critical
			continue
		}
		known += c.Weight
		points += c.Weight * *c.Score
		failed = failed || c.Status == Fail
		failedCritical = failedCritical || critical && c.Status == Fail
	}
	h.Status, h.Score = Unknown, nil
	if applicable > 0 {
		h.Coverage = known / applicable
		// The lower bound counts an unknown check as failed, and applies the cap for it, so that lost evidence never raises
		// the bound.
		h.LowerBound = capped(points/applicable, failedCritical || doubtfulCritical)
	}
	for i, c := range h.Checks {
		if c.Score != nil && known > 0 {
			h.Checks[i].PointsLost = round(c.Weight * (100 - *c.Score) / known)
		}
	}
	if h.Coverage >= leastCoverage && known > 0 {
		score := capped(points/known, failedCritical)
		h.Score, h.Status, h.Cap = &score, statusOf(score, failed), nil
		if mean := round(points / known); mean > score {
			h.Cap = &Cap{At: criticalCap, Mean: mean, Because: h.failingCritical()}
		}
	}
	h.Coverage = float64(int(h.Coverage*1000)) / 1000
}

// failingCritical lists the titles of the critical checks that fail.
func (h *HealthScore) failingCritical() []string {
	titles := []string{}
	for _, c := range h.Checks {
		if c.Weight == Critical.weight() && c.Status == Fail {
			titles = append(titles, c.Title)
		}
	}
	return titles
}

func capped(score float64, cap bool) float64 {
	if cap {
		score = min(score, criticalCap)
	}
	return round(score)
}

func statusOf(score float64, failed bool) Status {
	switch {
	case score < warnFrom:
		return Fail
	case score < passFrom || failed:
		return Warn
	}
	return Pass
}

// healthRules lists all health checks, with their weights and when they apply.
func healthRules() []rule {
	return []rule{
		{"webhook-deliveries", "Webhook deliveries", Critical, view.hasAttempts, deliveries,
			[3]string{"a webhook, or attempts within 3 d", "burn rate 1 (3 d and 6 h)", "burn rate 14.4 (1 h and 5 min) or 6 (6 h and 30 min), against 99 %"}},
		{"delivery-delay", "Delivery delay", High, view.hasWebhook, delay,
			[3]string{"a webhook", "oldest undelivered 10 min", "2 h"}},
		{"endpoints-disabled", "Endpoints disabled by failing", High, view.hasWebhook, disabled,
			[3]string{"a webhook", "failing for a day", "disabled because it failed"}},
		{"sync-failures", "Sync failures", High, view.pulls, syncFailures,
			[3]string{"a source that syncs", "the last run failed", "3 in a row"}},
		{"dead-letters", "Dead letters", Medium, view.hasWebhook, deadLetters,
			[3]string{"a webhook", "any", "20"}},
		{"sync-freshness", "Sync freshness", Medium, view.pulls, syncFreshness,
			[3]string{"a source that syncs", "two intervals of its schedule; or a day, or twice its usual pause", "7 intervals; or 7 days, or 7 times its usual pause"}},
		{"secret-age", "Signing secret age", Medium, view.hasSecret, secretAge,
			[3]string{"a signing secret", "90 d", "180 d"}},
		{"certification-expiry", "Certification expiry", Medium, view.hasCertified, certificationExpiry,
			[3]string{"a connector that is or was certified", "14 d left", "ended"}},
		{"unanswered-approvals", "Unanswered approvals", Medium, view.governed, unanswered,
			[3]string{"policies of the company, or approvals", "the oldest waits 4 h", "20 h, or one expired within 7 d"}},
		{"credential-expiry", "Credential expiry", Medium, view.hasExpiry, credentialExpiry,
			[3]string{"credentials whose end is known", "14 d left", "expired"}},
		{"webhook-effect", "Effect of received webhooks", Medium, view.receives, webhookEffect,
			[3]string{"a connector that received a webhook within a day", "3 within a day, and none took effect", "–"}},
		{"credential-age", "Credential age", Low, view.hasCredentials, credentialAge,
			[3]string{"credentials", "180 d", "365 d"}},
	}
}
