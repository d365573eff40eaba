package assessment

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Thresholds of the advice on neglected matters.
const (
	shadowAdvice  = 14 * day
	awaitAdvice   = 12 * time.Hour
	awaitEnds     = 7 * day // for how long an invitation that was not accepted counts
	quotaAdvice   = day     // for how long an executive's last excess counts
	inviteExpires = day
)

// resumeSchedule advises to resume a schedule, whose operation also enables the integration.
func resumeSchedule(v view, p string, i projection.Integration) (Recommendation, bool) {
	if i.SyncPausedAt.IsZero() || !i.Enabled {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Resume the syncs of " + v.called(p), Priority: recommendation.P2, FirstSeenAt: i.SyncPausedAt, Operation: v.operation(v.syncOperation(p), p),
		Rationale: fmt.Sprintf("After five failed syncs in a row the schedule of %s was paused, so nothing is fetched. Fix the cause first.", v.called(p)),
		Evidence:  []Evidence{{Name: "paused", Value: days(v.age(i.SyncPausedAt)), Unit: "days", At: i.SyncPausedAt, Href: v.syncsHref(p)}},
	}, true
}

// enforcePolicies advises to decide about policies that only record. Its operation shows them.
func enforcePolicies(v view) []Recommendation {
	g := v.Governance
	if g.Shadow == 0 || v.age(g.ShadowAt) < shadowAdvice {
		return nil
	}
	return []Recommendation{{
		Title: "Enforce the policies that only record, or remove them", Priority: recommendation.P3, FirstSeenAt: g.ShadowAt.Add(shadowAdvice),
		Subject: timeline.Reference{Type: "company", ID: v.CompanyID}, Operation: v.call("get-policies", "GET", policiesPath),
		Rationale: fmt.Sprintf("%s log-only for %s, so what it forbids still happens.", phrase.Plural(g.Shadow, "policy has been", "policies have been"), phrase.Span(v.age(g.ShadowAt))),
		Evidence:  []Evidence{{Name: "log-only policies", Value: float64(g.Shadow), Unit: "policies", At: g.ShadowAt, Href: v.href(policiesPath)}},
	}}
}

// raiseQuota advises a look at the actions of an executive that asked for too many. Its operation lists them.
func raiseQuota(v view) []Recommendation {
	var found []Recommendation
	for _, id := range slices.Sorted(maps.Keys(v.Executives)) {
		e := v.Executives[id]
		if v.age(e.ExceededAt) >= quotaAdvice {
			continue
		}
		o := v.call("list-executive-actions", "GET", "/executives/"+id+"/actions")
		found = append(found, Recommendation{
			Title: "Check what " + e.Name + " does, or raise its quota", Priority: recommendation.P3, FirstSeenAt: e.ExceededAt,
			Subject: timeline.Reference{Type: "executive", ID: id}, Operation: o,
			Rationale: fmt.Sprintf("%s asked for more than its %s of a day. Further ones are refused until midnight UTC.", e.Name, phrase.Plural(e.QuotaPerDay, "action", "actions")),
			Evidence:  []Evidence{{Name: "quota", Value: float64(e.QuotaPerDay), Unit: "actions a day", At: e.ExceededAt, Href: o.Href}},
		})
	}
	return found
}

// awaitOperators advises to remind operators who were invited, or to invite them again. Its operation lists the users.
func awaitOperators(v view) []Recommendation {
	var found []Recommendation
	for _, a := range v.Company.Awaited {
		age := v.age(a.At)
		if age < awaitAdvice || age >= awaitEnds {
			continue
		}
		r := Recommendation{
			Title: "Remind the operator who never signed in", Priority: recommendation.P4, FirstSeenAt: a.At.Add(awaitAdvice),
			Subject: timeline.Reference{Type: "user", ID: a.UserID}, Operation: v.call("list-users", "GET", "/operations/users"),
			Rationale: fmt.Sprintf("An operator was invited %s ago and has not signed in. The invitation is good for a day.", phrase.Span(age)),
			Evidence:  []Evidence{{Name: "invited", Value: float64(age / time.Hour), Unit: "hours", At: a.At, Href: v.href("/operations/users")}},
		}
		if age >= inviteExpires {
			r.Title, r.Rationale = "Invite the operator who never signed in again", fmt.Sprintf("An operator was invited %s ago. The invitation has expired.", phrase.Span(age))
		}
		found = append(found, r)
	}
	return found
}
