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
	ContextVersion int64     `json:"contextVersion" doc:"version of the company context behind the result" example:"1284"`
	AsOf           time.Time `json:"asOf" doc:"the minute for which the result holds"`
	FormulaVersion string    `json:"formulaVersion" doc:"version of the rules, weights and thresholds" example:"1"`
	Status         Status    `json:"status" enum:"pass,warn,fail,unknown" doc:"pass: 80 or more and no failed check; fail: below 50; warn: any other score; unknown: no score"`
	Score          *float64  `json:"score" nullable:"true" minimum:"0" maximum:"100" doc:"weighted mean of the known checks; at most 49 when a critical check fails; null when coverage is below 0.5" example:"92.5"`
	LowerBound     float64   `json:"lowerBound" minimum:"0" maximum:"100" doc:"the score if every unknown check failed" example:"80"`
	Coverage       float64   `json:"coverage" minimum:"0" maximum:"1" doc:"weight of the known checks, as a share of the weight of all checks that apply" example:"0.9"`
	Checks         []Check   `json:"checks" doc:"every check, applicable or not" nullable:"false"`
}

// HealthOf computes the platform health score. References begin with path, the company's path.
func HealthOf(p projection.Context, asOf time.Time, path string) HealthScore {
	return health(look(p, asOf, path))
}

func health(v view) HealthScore {
	rules := healthRules()
	h := HealthScore{ContextVersion: v.ContextVersion, AsOf: v.asOf, FormulaVersion: FormulaVersion, Checks: make([]Check, 0, len(rules))}
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
		h.Score, h.Status = &score, statusOf(score, failed)
	}
	h.Coverage = float64(int(h.Coverage*1000)) / 1000
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
		{"webhook-deliveries", "Webhook deliveries", Critical, view.hasWebhook, deliveries},
		{"delivery-delay", "Delivery delay", High, view.hasWebhook, delay},
		{"endpoints-disabled", "Endpoints disabled by failing", High, view.hasWebhook, disabled},
		{"sync-failures", "Sync failures", High, view.pulls, syncFailures},
		{"dead-letters", "Dead letters", Medium, view.hasWebhook, deadLetters},
		{"sync-freshness", "Sync freshness", Medium, view.pulls, syncFreshness},
		{"secret-age", "Signing secret age", Medium, view.hasSecret, secretAge},
		{"certification-expiry", "Certification expiry", Medium, view.hasCertified, certificationExpiry},
		{"credential-age", "Credential age", Low, view.hasCredentials, credentialAge},
	}
}
