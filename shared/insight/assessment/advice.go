package assessment

import (
	"fmt"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// An endpoint that fails for failingAdvice causes a recommendation, which becomes urgent after failingUrgent. After five
// days the service disables the endpoint.
const (
	failingAdvice = time.Hour
	failingUrgent = 3 * day
)

type advise struct {
	rule string
	find func(view) []Recommendation
}

// advice lists the rules of all recommendations. Place sorts by their order.
func advice() []advise {
	return []advise{
		{"connect-source", connectSource},
		{"connect-webhook", connectWebhook},
		{"certify-integration", each(certify)},
		{"renew-certification", each(renew)},
		{"enable-endpoint", each(enable)},
		{"mend-endpoint", each(mend)},
		{"recover-held", each(recoverHeld)},
		{"replay-dead-letters", each(replay)},
		{"rotate-secret", each(rotate)},
		{"mend-sync", each(mendSync)},
		{"sync-source", each(syncSource)},
		{"review-goal", reviewGoals},
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
	return v.operation("sync-memory", provider)
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
		Title: "Connect a first source", Priority: P2, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
		Rationale:   "No source is configured, so memory, goals and the timeline receive nothing automatically. Configure github or feed.",
		Evidence:    []Evidence{{Name: "configured sources", Href: v.href("/integrations")}},
		FirstSeenAt: v.Company.CreatedAt,
	}}
}

func connectWebhook(v view) []Recommendation {
	if v.hasWebhook() {
		return nil
	}
	return []Recommendation{{
		Title: "Connect a first webhook", Priority: P2, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
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
		Title: "Certify " + p, Priority: P2, FirstSeenAt: i.SandboxedAt, Operation: v.operation("certify-integration", p),
		Rationale: p + " is in the sandbox. Until it is certified, deliveries to it are held, and its requests and syncs change nothing.",
		Evidence:  []Evidence{{Name: "in the sandbox", Value: days(v.age(i.SandboxedAt)), Unit: "days", At: i.SandboxedAt, Href: v.integrationHref(p)}},
	}
	if held := v.Deliveries.Endpoints[p].Held.Total(); held > 0 {
		r.Rationale += " " + plural(held, "delivery waits", "deliveries wait") + " for it."
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
		Title: "Certify " + p + " again", Priority: P2, FirstSeenAt: i.CertifiedUntil.Add(-certificationWarn),
		Operation: v.operation("certify-integration", p),
		Rationale: fmt.Sprintf("The certification of %s ends on %s; then it returns to the sandbox.", p, i.CertifiedUntil.Format(time.DateOnly)),
		Evidence:  []Evidence{{Name: "certification", Value: days(max(left, 0)), Unit: "days left", At: i.CertifiedUntil, Href: v.integrationHref(p) + "/certification"}},
	}
	if left <= 0 {
		r.Priority = P1
	}
	return r, true
}

func enable(v view, p string, i projection.Integration) (Recommendation, bool) {
	if i.Enabled || i.DisabledReason != integration.DisabledGone && i.DisabledReason != integration.DisabledFailing {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Fix and enable " + p, Priority: P1, FirstSeenAt: i.DisabledAt, Operation: v.operation("enable-integration", p),
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
		Title: "Look at why " + p + " fails", Priority: P2, FirstSeenAt: i.FailingSince,
		Operation: v.operation("list-integration-deliveries", p),
		Rationale: fmt.Sprintf("No delivery has reached %s for %s. After five days the service disables it.", p, span(failing)),
		Evidence: []Evidence{
			{Name: "failing", Value: float64(failing / time.Hour), Unit: "hours", At: i.FailingSince, Href: v.integrationHref(p) + "/deliveries"},
			{Name: "waiting deliveries", Value: float64(v.Deliveries.Endpoints[p].Pending), Unit: "deliveries", Href: v.integrationHref(p) + "/deliveries?state=scheduled"},
		},
	}
	if failing >= failingUrgent {
		r.Priority = P1
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
		Title: "Send the held deliveries of " + p, Priority: P2, FirstSeenAt: first, Operation: v.recover(p, oldest),
		Rationale: fmt.Sprintf("%s held while %s was sandboxed or disabled, and may be sent now.", plural(held.Total(), "delivery was", "deliveries were"), p),
		Evidence:  []Evidence{{Name: "held deliveries", Value: float64(held.Total()), Unit: "deliveries", At: oldest, Href: v.integrationHref(p) + "/deliveries?state=held"}},
	}, true
}

func replay(v view, p string, i projection.Integration) (Recommendation, bool) {
	dead := v.Deliveries.Endpoints[p].Dead
	oldest, any := dead.Oldest()
	if !any || !i.Enabled {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Send the dead letters of " + p + " again", Priority: P2, FirstSeenAt: oldest, Operation: v.recover(p, oldest),
		Rationale: fmt.Sprintf("%s used up all attempts. Dead letters are kept for 30 days.", plural(dead.Total(), "delivery has", "deliveries have")),
		Evidence:  []Evidence{{Name: "dead letters", Value: float64(dead.Total()), Unit: "deliveries", At: oldest, Href: v.integrationHref(p) + "/deliveries?state=dead"}},
	}, true
}

func rotate(v view, p string, i projection.Integration) (Recommendation, bool) {
	age := v.age(i.SecretAt)
	if i.SecretAt.IsZero() || age < secretWarn {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Rotate the signing secret of " + p, Priority: P3, FirstSeenAt: i.SecretAt.Add(secretWarn),
		Operation: v.operation("rotate-integration-secret", p),
		Rationale: fmt.Sprintf("The secret is %s old. A new secret is shown once; the old one also signs for 24 more hours.", span(age)),
		Evidence:  []Evidence{{Name: "age of the secret", Value: days(age), Unit: "days", At: i.SecretAt, Href: v.integrationHref(p)}},
	}
	if age >= secretFail {
		r.Priority = P2
	}
	return r, true
}

func mendSync(v view, p string, i projection.Integration) (Recommendation, bool) {
	s := v.Syncs[p]
	if s.FailuresInRow == 0 || !i.Enabled {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Look at why the sync of " + p + " fails", Priority: P2, FirstSeenAt: s.FailingSince, Operation: v.sync(p),
		Rationale: fmt.Sprintf("The last %s failed: %s", plural(s.FailuresInRow, "sync", "syncs"), s.Error),
		Evidence:  []Evidence{{Name: "failed syncs in a row", Value: float64(s.FailuresInRow), Unit: "runs", At: s.FailingSince, Href: v.href("/memory/syncs/" + s.Run)}},
	}
	if s.FailuresInRow >= syncFailuresFail {
		r.Priority = P1
	}
	return r, true
}

func syncSource(v view, p string, i projection.Integration) (Recommendation, bool) {
	if !v.mayPull(i) || v.unsynced(p) < syncWarn || v.Syncs[p].FailuresInRow > 0 || v.syncing(p) {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Sync " + p, Priority: P3, FirstSeenAt: v.asOf.Add(syncWarn - v.unsynced(p)), Operation: v.operation("sync-memory", p),
		Rationale: fmt.Sprintf("%s has not been synced for %s, so memory may be out of date.", p, span(v.unsynced(p))),
		Evidence:  []Evidence{{Name: "since the last sync", Value: float64(v.unsynced(p) / time.Hour), Unit: "hours", At: v.Syncs[p].LastSucceededAt, Href: v.href("/memory/syncs")}},
	}, true
}

func reviewGoals(v view) []Recommendation {
	var found []Recommendation
	for _, g := range v.Goals.Listed {
		if g.Status == goal.Aligned {
			continue
		}
		r := Recommendation{
			Title: fmt.Sprintf("Review %q", g.Title), Priority: P3, FirstSeenAt: g.Since, Subject: timeline.Reference{Type: "goal", ID: g.ID},
			Rationale: fmt.Sprintf("The goal is %s: %s.", g.Status, g.Reason),
			Evidence:  []Evidence{{Name: "progress", Value: round(100 * g.Progress), Unit: "%", At: g.Since, Href: v.href("/goals/" + g.ID)}},
		}
		if g.Status == goal.Misaligned {
			r.Priority = P2
		}
		found = append(found, r)
	}
	return found
}
