package assessment

import (
	"fmt"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/goal"
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
	Level  int           `json:"level" doc:"number of the level" minimum:"1" maximum:"4" format:"int32"`
	Title  string        `json:"title" doc:"name of the level" example:"Connected"`
	Passed bool          `json:"passed" doc:"whether every check of the level passes or does not apply; the level counts only if all lower levels passed"`
	Checks []ScoredCheck `json:"checks" doc:"the checks of the level" nullable:"false"`
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
			{"source-connected", "A source is configured", none, nil, connected("source", "github", isSource),
				[3]string{"", "", "no source is configured"}},
			{"webhook-connected", "A webhook is configured", none, nil, connected("webhook", "webhook", isEndpoint),
				[3]string{"", "", "no webhook is configured"}},
		}},
		{"Certified", []rule{
			{"source-certified", "A source is certified", none, nil,
				certified("source", "github", isSource, integration.InboundReceive, integration.SyncPull),
				[3]string{"", "", "no enabled source is certified"}},
			{"webhook-certified", "A webhook is certified", none, nil,
				certified("webhook", "webhook", isEndpoint, integration.EventDeliver),
				[3]string{"", "", "no enabled webhook is certified"}},
			{"credentials-working", "No credential is failing", none, view.hasCredentials, credentialsWorking,
				[3]string{"", "", "the last sync of a source with credentials failed"}},
		}},
		{"Governed", []rule{
			{"policies-stored", "The company has policies of its own", none, nil, policiesStored,
				[3]string{"", "", "the company has none"}},
			{"second-founder", "A second founder can act", none, nil, secondFounder,
				[3]string{"", "", "there is one founder"}},
			{"approvals-answered", "No approval is overdue", none, nil, approvalsAnswered,
				[3]string{"", "", "one waits 20 h, or expired within 7 d"}},
			{"secrets-fresh", "Signing secrets are younger than 90 days", none, view.hasSecret, secretsFresh,
				[3]string{"", "", "the oldest is 90 days old"}},
		}},
		{"Operating", []rule{
			{"memory-fresh", "Memory is fresh", none, nil, memoryFresh,
				[3]string{"", "", "nothing was synced or changed for a day, or for as long as the slowest source usually takes"}},
			{"goals-aligned", "Every goal is aligned or explained", none, view.hasGoals, goalsAligned,
				[3]string{"", "", "one is neither aligned nor explained"}},
			{"health-good", "Health is 80 or better, with coverage 0.8", none, nil, func(v view) verdict { return healthGood(v, h) },
				[3]string{"", "", "the score or the coverage is lower"}},
		}},
	}
}

func (v view) hasGoals() bool { return v.Goals.Open > 0 }

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
					{Name: "certification of " + p, Value: days(i.CertifiedUntil.Sub(v.asOf)), Unit: "days left", At: i.CertifiedUntil, Href: v.integrationHref(p)},
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
				Name: "failed syncs of " + p + " in a row", Value: float64(s.FailuresInRow), Unit: "runs", At: s.FailingSince, Href: v.syncsHref(p),
			})
			found.status, found.reason, found.remedy = Fail, "the last sync of "+v.called(p)+" failed", v.remedy(v.syncOperation(p), p)
		}
	}
	return found
}

func secondFounder(v view) verdict {
	n := v.Company.Founders
	found := verdict{status: Pass, reason: phrase.Plural(n, "founder", "founders"), evidence: []Evidence{{Name: "founders", Value: float64(n), Unit: "users"}}}
	switch {
	case n == 0:
		return verdict{status: Unknown, reason: "the company's founders are not known yet", remedy: v.invite()}
	case n < foundersFrom:
		found.status, found.reason = Fail, "there is one founder; if that account is lost, the company has no founder"
		found.remedy = v.invite()
	}
	return found
}

func (v view) invite() *Remedy { return &v.call("invite-user", "POST", "/operations/users").Remedy }

func secretsFresh(v view) verdict {
	found := secretAge(v)
	if found.status != Pass {
		found.status = Fail
	}
	return found
}

func memoryFresh(v view) verdict {
	last, limit, count := time.Time{}, syncWarn, int64(0)
	for _, p := range v.providers {
		m := v.Memory.Providers[p]
		count += m.Count
		for _, at := range []time.Time{m.LastChangedAt, m.LastSyncedAt} {
			if at.After(last) {
				last = at
			}
		}
		if warn, _ := v.freshness(p); v.synced(p) {
			limit = max(limit, warn)
		}
	}
	if last.IsZero() {
		return verdict{
			status: Fail, reason: "there are no memories yet", remedy: v.fetch(),
			evidence: []Evidence{{Name: "memories", Unit: "memories", Href: v.href(currentMemory)}},
		}
	}
	found := verdict{
		status: Pass, reason: fmt.Sprintf("memory was synced or changed %s ago; %s is the limit", phrase.Span(v.age(last)), phrase.Span(limit)),
		evidence: []Evidence{{Name: "memories", Value: float64(count), Unit: "memories", At: last, Href: v.href(currentMemory)}},
	}
	if v.age(last) > limit {
		found.status, found.remedy = Fail, v.fetch()
	}
	return found
}

// fetch returns the operation that brings new memories: the sync of a source, or the configuration of a feed, which syncs.
func (v view) fetch() *Remedy {
	for _, p := range v.providers {
		if v.synced(p) {
			return v.remedy(v.syncOperation(p), p)
		}
	}
	return v.remedy("configure-integration", "feed")
}

func goalsAligned(v view) verdict {
	g := v.Goals
	off, explained := g.Drifting+g.Misaligned, 0
	first := ""
	for _, listed := range g.Listed {
		switch {
		case listed.Status == goal.Aligned:
		case v.explained(listed.ID):
			explained++
		case first == "":
			first = listed.ID
		}
	}
	found := verdict{status: Pass, reason: "every open goal is aligned or explained", evidence: []Evidence{
		{Name: "open goals", Value: float64(g.Open), Unit: "goals", Href: v.href(openGoals)},
		{Name: "drifting or misaligned", Value: float64(off), Unit: "goals", Href: v.href(openGoals)},
		{Name: "explained", Value: float64(explained), Unit: "goals"},
	}}
	if off > explained {
		found.status = Fail
		found.reason = fmt.Sprintf("%d of %s neither aligned nor explained", off-explained, phrase.Plural(g.Open, "open goal is", "open goals are"))
		found.remedy = &v.call("list-goals", "GET", openGoals).Remedy // the context does not list every goal
		if first != "" {
			found.remedy = &Remedy{Operation: "explain-goal", Method: "PUT", Href: v.href("/goals/" + first + "/explanation")}
		}
	}
	return found
}

// explained reports whether an explanation of a goal holds.
func (v view) explained(goalID string) bool { return v.asOf.Before(v.Goals.Explained[goalID]) }

func healthGood(v view, h HealthScore) verdict {
	if h.Score == nil {
		return verdict{status: Unknown, reason: "there is no health score yet", remedy: v.healing(h), evidence: []Evidence{
			{Name: "coverage", Value: h.Coverage, Href: v.href("/mission-control/health")},
		}}
	}
	found := verdict{status: Fail, reason: fmt.Sprintf("health is %g with coverage %g", *h.Score, h.Coverage), evidence: []Evidence{
		{Name: "health", Value: *h.Score, Unit: "of 100", Href: v.href("/mission-control/health")},
		{Name: "coverage", Value: h.Coverage, Href: v.href("/mission-control/health")},
	}}
	if *h.Score >= healthFrom && h.Coverage >= coverageFrom {
		found.status = Pass
		return found
	}
	found.remedy = v.healing(h)
	return found
}

// healing returns the operation of the check that costs most points. If no check that costs points has an operation, it
// returns that of a sample event, which makes deliveries known.
func (v view) healing(h HealthScore) *Remedy {
	var found *Remedy
	most := 0.0
	for _, c := range h.Checks {
		if c.Remedy != nil && c.PointsLost > most {
			found, most = c.Remedy, c.PointsLost
		}
	}
	switch p := v.firstEndpoint(); {
	case found != nil:
		return found
	case p != "":
		return v.remedy("test-integration", p)
	}
	return v.remedy("configure-integration", "webhook")
}
