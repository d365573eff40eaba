package assessment

import (
	"fmt"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
)

// Readiness reports the highest of four levels that a company's set-up has reached. It is never an average.
type Readiness struct {
	ContextVersion int64     `json:"contextVersion" doc:"version of the company context behind the result" example:"1284"`
	AsOf           time.Time `json:"asOf" doc:"the minute for which the result holds"`
	FormulaVersion string    `json:"formulaVersion" doc:"version of the rules and thresholds" example:"1"`
	Level          int       `json:"level" minimum:"0" maximum:"4" doc:"the highest level that passed and whose lower levels all passed; 0 if none" format:"int32"`
	Levels         []Level   `json:"levels" doc:"all four levels, lowest first" nullable:"false"`
	Blocking       []string  `json:"blocking" nullable:"false" doc:"ids of the checks that keep the company from the next level"`
}

// Level reports one level with its checks.
type Level struct {
	Level  int     `json:"level" doc:"number of the level" minimum:"1" maximum:"4" format:"int32"`
	Title  string  `json:"title" doc:"name of the level" example:"Connected"`
	Passed bool    `json:"passed" doc:"whether every check of the level passes or does not apply; the level counts only if all lower levels passed"`
	Checks []Check `json:"checks" doc:"the checks of the level" nullable:"false"`
}

// Thresholds of the upper levels.
const (
	healthFrom   = 80
	coverageFrom = 0.8
	foundersFrom = 2
)

// ReadinessOf computes the company's readiness. References begin with path, the company's path.
func ReadinessOf(p projection.Context, asOf time.Time, path string) Readiness {
	v := look(p, asOf, path)
	return readiness(v, health(v))
}

func readiness(v view, h HealthScore) Readiness {
	r := Readiness{ContextVersion: v.ContextVersion, AsOf: v.asOf, FormulaVersion: FormulaVersion, Blocking: []string{}}
	climbing := true
	for i, step := range ladder(h) {
		l := Level{Level: i + 1, Title: step.title, Passed: true}
		var blocking []string
		for _, rule := range step.rules {
			c := rule.check(v)
			l.Checks = append(l.Checks, c)
			if c.Status != Pass && c.Status != NotApplicable {
				l.Passed = false
				blocking = append(blocking, c.ID)
			}
		}
		r.Levels = append(r.Levels, l)
		switch {
		case climbing && l.Passed:
			r.Level = l.Level
		case climbing:
			r.Blocking, climbing = blocking, false
		}
	}
	return r
}

type step struct {
	title string
	rules []rule
}

// ladder lists all readiness checks by level, from the lowest.
func ladder(h HealthScore) []step {
	return []step{
		{"Connected", []rule{
			{"source-connected", "A source is configured", none, nil, connected("source", "github", isSource)},
			{"webhook-connected", "A webhook is configured", none, nil, connected("webhook", "webhook", isEndpoint)},
		}},
		{"Certified", []rule{
			{"source-certified", "A source is certified", none, nil,
				certified("source", "github", isSource, integration.InboundReceive, integration.SyncPull)},
			{"webhook-certified", "A webhook is certified", none, nil,
				certified("webhook", "webhook", isEndpoint, integration.EventDeliver)},
			{"credentials-working", "No credential is failing", none, view.hasCredentials, credentialsWorking},
		}},
		{"Governed", []rule{
			{"policies-stored", "The company has policies of its own", none, nil, notRecorded("the company's policies")},
			{"second-founder", "A second founder can act", none, nil, secondFounder},
			{"approvals-answered", "No approval is overdue", none, nil, notRecorded("approvals")},
			{"secrets-fresh", "Signing secrets are younger than 90 days", none, view.hasSecret, secretsFresh},
		}},
		{"Operating", []rule{
			{"memory-fresh", "Memory is fresh", none, nil, memoryFresh},
			{"goals-aligned", "Every goal is aligned", none, view.hasGoals, goalsAligned},
			{"health-good", "Health is 80 or better, with coverage 0.8", none, nil, func(v view) verdict { return healthGood(v, h) }},
		}},
	}
}

func (v view) hasGoals() bool { return v.Goals.Open > 0 }

func notRecorded(what string) func(view) verdict {
	return func(view) verdict {
		return verdict{status: Unknown, reason: "the facts are not recorded yet: " + what}
	}
}

func connected(what, suggestion string, is func(projection.Integration) bool) func(view) verdict {
	return func(v view) verdict {
		for _, p := range v.providers {
			if is(v.Integrations[p]) {
				return verdict{status: Pass, reason: p + " is configured", evidence: []Evidence{{Name: p, Value: 1, Href: v.integrationHref(p)}}}
			}
		}
		return verdict{status: Fail, reason: "no " + what + " is configured", remedy: v.remedy("configure-integration", suggestion)}
	}
}

func certified(what, suggestion string, is func(projection.Integration) bool, ports ...integration.Port) func(view) verdict {
	return func(v view) verdict {
		candidate := ""
		for _, p := range v.providers {
			i := v.Integrations[p]
			if !is(i) {
				continue
			}
			if i.Allows(v.asOf, ports...) {
				return verdict{status: Pass, reason: p + " is certified and enabled", evidence: []Evidence{
					{Name: "certification of " + p, Value: days(i.CertifiedUntil.Sub(v.asOf)), Unit: "days left", At: i.CertifiedUntil, Href: v.integrationHref(p) + "/certification"},
				}}
			}
			if candidate == "" || i.Enabled && !v.Integrations[candidate].Enabled {
				candidate = p
			}
		}
		if candidate == "" {
			return verdict{status: Fail, reason: "no " + what + " is configured", remedy: v.remedy("configure-integration", suggestion)}
		}
		found := verdict{status: Fail, reason: candidate + " is not certified as a " + what, remedy: v.remedy("certify-integration", candidate)}
		if i := v.Integrations[candidate]; !i.Enabled {
			found.reason, found.remedy = candidate+" is disabled", v.remedy("enable-integration", candidate)
		}
		found.evidence = []Evidence{{Name: candidate, Href: v.integrationHref(candidate)}}
		return found
	}
}

// credentialsWorking treats a source with credentials as failing when its last sync failed.
func credentialsWorking(v view) verdict {
	found := verdict{status: Pass, reason: "no source with credentials is failing"}
	for _, p := range v.providers {
		if s := v.Syncs[p]; !v.Integrations[p].CredentialsAt.IsZero() && s.FailuresInRow > 0 {
			found.evidence = append(found.evidence, Evidence{
				Name: "failed syncs of " + p + " in a row", Value: float64(s.FailuresInRow), Unit: "runs", At: s.FailingSince, Href: v.href("/memory/syncs/" + s.Run),
			})
			found.status, found.reason, found.remedy = Fail, "the last sync of "+p+" failed", v.remedy("sync-memory", p)
		}
	}
	return found
}

func secondFounder(v view) verdict {
	n := v.Company.Founders
	found := verdict{status: Pass, reason: plural(n, "founder", "founders"), evidence: []Evidence{{Name: "founders", Value: float64(n), Unit: "users"}}}
	switch {
	case n == 0:
		return verdict{status: Unknown, reason: "the company's founders are not known yet"}
	case n < foundersFrom:
		found.status, found.reason = Fail, "there is one founder; if that account is lost, the company has no founder"
	}
	return found
}

func secretsFresh(v view) verdict {
	found := secretAge(v)
	if found.status != Pass {
		found.status = Fail
	}
	return found
}

func memoryFresh(v view) verdict {
	last := v.Memory.LastChangedAt
	for _, m := range v.Memory.Providers {
		if m.LastSyncedAt.After(last) {
			last = m.LastSyncedAt
		}
	}
	if last.IsZero() {
		return verdict{status: Fail, reason: "there are no memories yet", evidence: []Evidence{{Name: "memories", Unit: "memories", Href: v.href("/memory")}}}
	}
	found := verdict{
		status: Pass, reason: fmt.Sprintf("memory was synced or changed %s ago; a day is the limit", span(v.age(last))),
		evidence: []Evidence{{Name: "memories", Value: float64(v.Memory.Total), Unit: "memories", At: last, Href: v.href("/memory")}},
	}
	if v.age(last) > syncWarn {
		found.status = Fail
	}
	return found
}

func goalsAligned(v view) verdict {
	g := v.Goals
	off := g.Drifting + g.Misaligned
	found := verdict{status: Pass, reason: "every open goal is aligned", evidence: []Evidence{
		{Name: "open goals", Value: float64(g.Open), Unit: "goals", Href: v.href("/goals")},
		{Name: "drifting or misaligned", Value: float64(off), Unit: "goals", Href: v.href("/goals")},
	}}
	if off > 0 {
		found.status = Fail
		found.reason = fmt.Sprintf("%d of %s not aligned; explanations are not recorded yet", off, plural(g.Open, "open goal is", "open goals are"))
	}
	return found
}

func healthGood(v view, h HealthScore) verdict {
	if h.Score == nil {
		return verdict{status: Unknown, reason: "there is no health score yet", evidence: []Evidence{
			{Name: "coverage", Value: h.Coverage, Href: v.href("/mission-control/health")},
		}}
	}
	found := verdict{status: Fail, reason: fmt.Sprintf("health is %g with coverage %g", *h.Score, h.Coverage), evidence: []Evidence{
		{Name: "health", Value: *h.Score, Unit: "of 100", Href: v.href("/mission-control/health")},
		{Name: "coverage", Value: h.Coverage, Href: v.href("/mission-control/health")},
	}}
	if *h.Score >= healthFrom && h.Coverage >= coverageFrom {
		found.status = Pass
	}
	return found
}
