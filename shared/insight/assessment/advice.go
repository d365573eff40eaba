package assessment

import (
	"fmt"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// An endpoint that fails for failingAdvice causes a recommendation, which becomes urgent after failingUrgent. After five
// days the service disables the endpoint.
const (
	failingAdvice = time.Hour
	failingUrgent = 3 * day
)

// advise holds a rule of recommendations: its name, its condition in words, and what finds its cases.
type advise struct {
	rule, when string
	find       func(view) []Recommendation
}

// advice lists the rules of all recommendations. Place sorts by their order.
func advice() []advise {
	return []advise{
		{"connect-source", "no source is configured", connectSource},
		{"connect-webhook", "no webhook is configured", connectWebhook},
		{"certify-integration", "an integration is in the sandbox", each(certify)},
		{"renew-certification", "a certification ends within 14 days", each(renew)},
		{"enable-endpoint", "the service disabled an endpoint", each(enable)},
		{"test-endpoint", "an endpoint has failed for 4 days; after 5 it is disabled", each(lastTest)},
		{"mend-endpoint", "an endpoint has failed for an hour", each(mend)},
		{"reduce-failures", "5 % or more of 20 attempts to an endpoint failed in 24 hours", each(reduceFailures)},
		{"drain-backlog", "a delivery is 2 hours late although its endpoint answers", drainBacklog},
		{"recover-held", "held deliveries may be sent now", each(recoverHeld)},
		{"replay-dead-letters", "an endpoint has dead letters", each(replay)},
		{"rotate-secret", "a signing secret is 90 days old", each(rotate)},
		{"replace-credentials", "credentials expire within 14 days", each(replaceCredentials)},
		{"refresh-credentials", "credentials are 180 days old", each(refreshCredentials)},
		{"mend-sync", "the last sync of a source failed", each(mendSync)},
		{"first-sync", "a source was certified an hour ago and never synced", each(firstSync)},
		{"sync-source", "a source was last synced longer ago than usual", each(syncSource)},
		{"resume-schedule", "the schedule of a source was paused after 5 failed syncs", each(resumeSchedule)},
		{"confirm-sync", "a sync waits for a user before it removes many items", each(confirmSync)},
		{"cancel-sync", "a sync has been running for 6 hours", each(cancelSync)},
		{"check-silence", "a source that sends by webhook has sent nothing for 7 days", each(checkSilence)},
		{"check-effect", "a connector received 3 webhooks within a day, and none took effect", each(checkEffect)},
		{"review-goal", "a goal is drifting or misaligned, and no founder explained it", reviewGoals},
		{"close-goal", "an open goal is done", closeGoals},
		{"date-goals", "an open goal has no due date", dateGoals},
		{"answer-approval", "an approval waits", answerApprovals},
		{"store-policies", "a source is certified, and the company has no policies of its own", storePolicies},
		{"enforce-policies", "a policy has only recorded what it would decide for 14 days", enforcePolicies},
		{"raise-quota", "an executive asked for more than its quota within a day", raiseQuota},
		{"add-founder", "there is one founder", addFounder},
		{"await-operator", "an operator was invited 12 hours ago and has not signed in", awaitOperators},
		{"resume-integration", "a user disabled an integration 7 days ago", each(resume)},
	}
}

// Rules lists the names of all rules, in the order of their recommendations.
func Rules() []string {
	var rules []string
	for _, a := range advice() {
		rules = append(rules, a.rule)
	}
	return rules
}

// each applies a rule to every integration; the rule's ok says whether its condition holds.
func each(ask func(view, string, projection.Integration) (r Recommendation, ok bool)) func(view) []Recommendation {
	return func(v view) []Recommendation {
		var found []Recommendation
		for _, p := range v.providers {
			if r, ok := ask(v, p, v.Integrations[p]); ok {
				r.Subject = timeline.Reference{Type: "integration", ID: p}
				found = append(found, r)
			}
		}
		return found
	}
}

func (v view) operation(name, provider string) *Operation {
	return &Operation{Remedy: *v.remedy(name, provider)}
}

func (v view) recover(provider string, since time.Time) *Operation {
	o := v.operation("recover-integration", provider)
	o.Body = map[string]string{"since": since.UTC().Format(time.RFC3339)}
	return o
}

// sync returns the operation that syncs a source, or nil while a sync is under way, because a source has one at a time.
func (v view) sync(provider string) *Operation {
	if v.syncing(provider) {
		return nil
	}
	return v.operation(v.syncOperation(provider), provider)
}

func (v view) syncing(provider string) bool {
	state := v.Syncs[provider].State
	return state != "" && !state.Ended()
}

func connectSource(v view) []Recommendation {
	if v.any(isSource) {
		return nil
	}
	return []Recommendation{{
		Title: "Connect a first source", Priority: recommendation.P2, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
		Rationale:   "No source is configured, so memory, goals and the timeline receive nothing automatically. Configure github, linear, http or feed.",
		Evidence:    []Evidence{{Name: "configured sources", Href: v.href("/integrations")}},
		FirstSeenAt: v.Company.CreatedAt,
	}}
}

func connectWebhook(v view) []Recommendation {
	if v.hasWebhook() {
		return nil
	}
	return []Recommendation{{
		Title: "Connect a first webhook", Priority: recommendation.P2, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
		Rationale:   "No webhook is configured, so no other system receives events. Configure webhook.",
		Evidence:    []Evidence{{Name: "configured webhooks", Href: v.href("/integrations")}},
		FirstSeenAt: v.Company.CreatedAt,
	}}
}

func certify(v view, p string, i projection.Integration) (Recommendation, bool) {
	if i.State != integration.Sandbox || !i.Enabled {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Certify " + v.called(p), Priority: recommendation.P2, FirstSeenAt: i.SandboxedAt, Operation: v.operation("certify-integration", p),
		Rationale: p + " is in the sandbox. Until it is certified, deliveries to it are held, and its requests and syncs change nothing.",
		Evidence:  []Evidence{{Name: "in the sandbox", Value: days(v.age(i.SandboxedAt)), Unit: "days", At: i.SandboxedAt, Href: v.integrationHref(p)}},
	}
	if held := v.Deliveries.Endpoints[p].Held.Total(); held > 0 {
		r.Rationale += " " + phrase.Plural(held, "delivery waits", "deliveries wait") + " for it."
		r.Evidence = append(r.Evidence, Evidence{Name: "held deliveries", Value: float64(held), Unit: "deliveries", Href: v.integrationHref(p) + "/deliveries?state=held"})
	}
	return r, true
}

func renew(v view, p string, i projection.Integration) (Recommendation, bool) {
	left := i.CertifiedUntil.Sub(v.asOf)
	if i.State != integration.Certified || left > certificationWarn {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Certify " + v.called(p) + " again", Priority: recommendation.P2, FirstSeenAt: i.CertifiedUntil.Add(-certificationWarn),
		Operation: v.operation("certify-integration", p),
		Rationale: fmt.Sprintf("The certification of %s ends on %s; then it returns to the sandbox.", v.called(p), i.CertifiedUntil.Format(time.DateOnly)),
		Evidence:  []Evidence{{Name: "certification", Value: days(max(left, 0)), Unit: "days left", At: i.CertifiedUntil, Href: v.integrationHref(p)}},
	}
	if left <= 0 {
		r.Priority = recommendation.P1
	}
	return r, true
}

func enable(v view, p string, i projection.Integration) (Recommendation, bool) {
	if i.Enabled || i.DisabledReason != integration.DisabledGone && i.DisabledReason != integration.DisabledFailing {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Fix and enable " + v.called(p), Priority: recommendation.P1, FirstSeenAt: i.DisabledAt, Operation: v.operation("enable-integration", p),
		Rationale: p + " was disabled because " + whyDisabled(i.DisabledReason) + ". Its deliveries are held meanwhile.",
		Evidence:  []Evidence{{Name: "disabled", Value: days(v.age(i.DisabledAt)), Unit: "days", At: i.DisabledAt, Href: v.integrationHref(p)}},
	}, true
}

func mend(v view, p string, i projection.Integration) (Recommendation, bool) {
	failing := v.age(i.FailingSince)
	if !i.Enabled || !isEndpoint(i) || i.FailingSince.IsZero() || failing < failingAdvice {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Look at why " + v.called(p) + " fails", Priority: recommendation.P2, FirstSeenAt: i.FailingSince,
		Operation: v.operation("list-integration-deliveries", p),
		Rationale: fmt.Sprintf("No delivery has reached %s for %s. After five days the service disables it, unless a policy forbids that.", v.called(p), phrase.Span(failing)),
		Evidence: []Evidence{
			{Name: "failing", Value: float64(failing / time.Hour), Unit: "hours", At: i.FailingSince, Href: v.integrationHref(p) + "/deliveries"},
			{Name: "waiting deliveries", Value: float64(v.Deliveries.Endpoints[p].Pending), Unit: "deliveries", Href: v.integrationHref(p) + "/deliveries?state=scheduled"},
		},
	}
	if failing >= failingUrgent {
		r.Priority = recommendation.P1
	}
	return r, true
}

func recoverHeld(v view, p string, i projection.Integration) (Recommendation, bool) {
	held := v.Deliveries.Endpoints[p].Held
	oldest, any := held.Oldest()
	if !any || !i.Allows(v.asOf, integration.EventDeliver) {
		return Recommendation{}, false
	}
	first := oldest
	if i.CertifiedAt.After(first) {
		first = i.CertifiedAt
	}
	return Recommendation{
		Title: "Send the held deliveries of " + v.called(p), Priority: recommendation.P2, FirstSeenAt: first, Operation: v.recover(p, oldest),
		Rationale: fmt.Sprintf("%s held while %s was sandboxed or disabled, and may be sent now.", phrase.Plural(held.Total(), "delivery was", "deliveries were"), v.called(p)),
		Evidence:  []Evidence{{Name: "held deliveries", Value: float64(held.Total()), Unit: "deliveries", At: first, Href: v.integrationHref(p) + "/deliveries?state=held"}},
	}, true
}

func replay(v view, p string, i projection.Integration) (Recommendation, bool) {
	dead := v.Deliveries.Endpoints[p].Dead
	oldest, any := dead.Oldest()
	if !any || !i.Enabled {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Send the dead letters of " + v.called(p) + " again", Priority: recommendation.P2, FirstSeenAt: oldest, Operation: v.recover(p, oldest),
		Rationale: fmt.Sprintf("%s used up all attempts. Dead letters are kept for 30 days.", phrase.Plural(dead.Total(), "delivery has", "deliveries have")),
		Evidence:  []Evidence{{Name: "dead letters", Value: float64(dead.Total()), Unit: "deliveries", At: oldest, Href: v.integrationHref(p) + "/deliveries?state=dead"}},
	}, true
}

// rotate points at the integration if it only receives, because only a person can get a new secret from the provider.
func rotate(v view, p string, i projection.Integration) (Recommendation, bool) {
	age := v.age(i.SecretAt)
	if i.SecretAt.IsZero() || age < secretWarn {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Rotate the signing secret of " + v.called(p), Priority: recommendation.P3, FirstSeenAt: i.SecretAt.Add(secretWarn),
		Operation: v.operation(rotation(i), p),
		Rationale: fmt.Sprintf("The secret is %s old. A new secret is shown once; the old one also signs for 24 more hours.", phrase.Span(age)),
		Evidence:  []Evidence{{Name: "age of the secret", Value: days(age), Unit: "days", At: i.SecretAt, Href: v.integrationHref(p)}},
	}
	if !isEndpoint(i) {
		r.Rationale = fmt.Sprintf("The secret is %s old. Make a new one at the provider and store it; the old one is also accepted for 24 more hours.", phrase.Span(age))
	}
	if age >= secretFail {
		r.Priority = recommendation.P2
	}
	return r, true
}

func mendSync(v view, p string, i projection.Integration) (Recommendation, bool) {
	s := v.Syncs[p]
	ended := i.Connected && !i.CredentialsEnd.IsZero() && !i.CredentialsEnd.After(v.asOf) // replaceCredentials tells it
	if s.FailuresInRow == 0 || !i.Enabled || ended {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Look at why the sync of " + v.called(p) + " fails", Priority: recommendation.P2, FirstSeenAt: s.FailingSince, Operation: v.sync(p),
		Rationale: fmt.Sprintf("The last %s failed: %s", phrase.Plural(s.FailuresInRow, "sync", "syncs"), s.Error),
		Evidence:  []Evidence{{Name: "failed syncs in a row", Value: float64(s.FailuresInRow), Unit: "runs", At: s.FailingSince, Href: v.syncsHref(p)}},
	}
	if s.FailuresInRow >= syncFailuresFail {
		r.Priority = recommendation.P1
	}
	return r, true
}

func syncSource(v view, p string, i projection.Integration) (Recommendation, bool) {
	warn, _ := v.freshness(p)
	if !v.mayPull(i) || v.Syncs[p].LastSucceededAt.IsZero() || v.unsynced(p) < warn || v.Syncs[p].FailuresInRow > 0 || v.syncing(p) {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Sync " + v.called(p), Priority: recommendation.P3, FirstSeenAt: v.asOf.Add(warn - v.unsynced(p)), Operation: v.operation("sync-memory", p),
		Rationale: fmt.Sprintf("%s has not been synced for %s, so memory may be out of date.", v.called(p), phrase.Span(v.unsynced(p))),
		Evidence:  []Evidence{{Name: "since the last sync", Value: float64(v.unsynced(p) / time.Hour), Unit: "hours", At: v.Syncs[p].LastSucceededAt, Href: v.syncsHref(p)}},
	}, true
}
