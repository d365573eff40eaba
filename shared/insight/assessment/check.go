// Package assessment computes health, readiness, a dashboard, a brief and recommendations from a company's context. Every
// result is a pure function of the context and of asOf, so equal inputs give the same bytes. The time asOf is the request's
// time, cut to the minute. A check may begin to fail while the context stays the same, because asOf moves on.
package assessment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
)

// FormulaVersion names the version of this package's rules, weights and thresholds. Raise it whenever one of them changes.
const FormulaVersion = "8"

// AsOf returns the time that an assessment is about: now, cut to the minute.
func AsOf(now time.Time) time.Time { return now.UTC().Truncate(time.Minute) }

// Tag identifies an assessment: equal tags mean equal bytes.
func Tag(contextVersion int64, asOf time.Time) string {
	return fmt.Sprintf("%d.%s.%d", contextVersion, FormulaVersion, asOf.Unix()/60)
}

// Status says the outcome of a check.
type Status = finding.Status

// The outcomes of a check.
const (
	Pass          = finding.Pass
	Warn          = finding.Warn
	Fail          = finding.Fail
	Unknown       = finding.Unknown
	NotApplicable = finding.NotApplicable
)

// ScoredCheck reports the result of one check of health or of readiness.
type ScoredCheck struct {
	finding.Check
	Score      *float64 `json:"score" nullable:"true" minimum:"0" maximum:"100" doc:"pass 100, warn 50, fail 0; null when unknown or not applicable"`
	Weight     float64  `json:"weight" doc:"how much the check counts in the health score; 0 in readiness, which has no weights" example:"10"`
	PointsLost float64  `json:"pointsLost" doc:"points that the check takes from the health score" example:"12.5"`
}

// Evidence states one fact. Checks of a certification share it.
type Evidence = finding.Evidence

// Remedy names an operation of this API. Checks of a certification share it.
type Remedy = finding.Remedy

// verdict holds the findings of a rule.
type verdict struct {
	status   Status
	reason   string
	evidence []Evidence
	remedy   *Remedy
}

// rule defines a check. A rule with a nil applies always applies.
type rule struct {
	id, title string
	severity  Severity
	applies   func(view) bool
	judge     func(view) verdict
	about     [3]string // in words: what it applies to, when it warns, when it fails
}

func (r rule) check(v view) ScoredCheck {
	c := ScoredCheck{Check: finding.Check{ID: r.id, Title: r.title, Evidence: []Evidence{}}, Weight: r.severity.weight()}
	if r.applies != nil && !r.applies(v) {
		c.Status, c.Reason = NotApplicable, "no configured integration needs this check"
		return c
	}
	found := r.judge(v)
	c.Status, c.Reason, c.Remedy = found.status, found.reason, found.remedy
	if found.evidence != nil {
		c.Evidence = readable(found.evidence)
	}
	if s, known := points(found.status); known {
		c.Score = &s
	}
	return c
}

// maxEvidence limits the facts that a check shows of a company with many integrations.
const maxEvidence = 20

// daysLeft is the unit of facts of which the smallest is the worst. Of others, the greatest is.
const daysLeft = "days left"

// readable returns the worst of many facts, the worst first, and the number of the others.
func readable(facts []Evidence) []Evidence {
	if len(facts) <= maxEvidence {
		return facts
	}
	slices.SortStableFunc(facts, func(a, b Evidence) int {
		if a.Unit == daysLeft {
			return cmp.Compare(a.Value, b.Value)
		}
		return cmp.Compare(b.Value, a.Value)
	})
	others := Evidence{Name: "integrations with a better value", Value: float64(len(facts) - maxEvidence), Unit: "integrations"}
	return append(slices.Clip(facts[:maxEvidence]), others)
}

// points returns the score of a check with an outcome.
func points(s Status) (score float64, known bool) {
	switch s {
	case Pass:
		return 100, true
	case Warn:
		return 50, true
	case Fail:
		return 0, true
	}
	return 0, false
}

// view holds a context, the time of the assessment, and values that several rules need.
type view struct {
	projection.Context
	asOf      time.Time
	path      string   // the company's path; references begin with it
	providers []string // configured providers, sorted; the rules report them in this order
}

func look(p projection.Context, asOf time.Time, path string) view {
	v := view{Context: p, asOf: asOf, path: path, providers: make([]string, 0, len(p.Integrations))}
	for provider := range p.Integrations {
		v.providers = append(v.providers, provider)
	}
	slices.Sort(v.providers)
	return v
}

// any reports whether a configured integration meets a condition.
func (v view) any(is func(projection.Integration) bool) bool {
	return slices.ContainsFunc(v.providers, func(p string) bool { return is(v.Integrations[p]) })
}

func (v view) hasWebhook() bool { return v.any(isEndpoint) }

// hasAttempts also reports true for a while after the last webhook was deleted, so that a deletion hides no failures.
func (v view) hasAttempts() bool { return v.hasWebhook() || v.attempts(3*day).Total() > 0 }

func isEndpoint(i projection.Integration) bool { return i.Has(integration.EventDeliver) }

func isSource(i projection.Integration) bool {
	return i.Has(integration.InboundReceive, integration.SyncPull)
}

// age returns the time from t to asOf. It returns 0 for a time after asOf, such as that of a change in the current minute.
func (v view) age(t time.Time) time.Duration { return max(v.asOf.Sub(t), 0) }

func (v view) href(path string) string { return v.path + path }

// called returns what people call an integration: its title, if it has one, and its name.
func (v view) called(provider string) string {
	if title := v.Integrations[provider].Title; title != "" {
		return title + " (" + provider + ")"
	}
	return provider
}

func (v view) integrationHref(provider string) string { return v.href("/integrations/" + provider) }

// remedy returns an operation on an integration.
func (v view) remedy(operation, provider string) *Remedy {
	r := finding.Call(operation, v.path, provider)
	return &r
}

const day = 24 * time.Hour

func days(d time.Duration) float64 { return math.Floor(float64(d) / float64(day)) }

func round(x float64) float64 { return math.Round(10*x) / 10 }
