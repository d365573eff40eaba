package assessment

import (
	"fmt"
	"net/url"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Thresholds of the advice on upkeep.
const (
	idleAdvice   = 7 * day
	silentAdvice = 7 * day
	stuckAdvice  = 6 * time.Hour
	urgentExpiry = 3 * day // before credentials expire
)

// resume advises to enable an integration that a user disabled long ago.
func resume(v view, p string, i projection.Integration) (Recommendation, bool) {
	if i.Enabled || i.DisabledReason != integration.DisabledManually || i.DisabledAt.IsZero() || v.age(i.DisabledAt) < idleAdvice {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Enable " + v.called(p) + ", or delete it", Priority: recommendation.P4, FirstSeenAt: i.DisabledAt.Add(idleAdvice),
		Operation: v.operation("enable-integration", p),
		Rationale: fmt.Sprintf("A user disabled %s %s ago. Held deliveries are kept for 30 days only.", v.called(p), phrase.Span(v.age(i.DisabledAt))),
		Evidence:  []Evidence{{Name: "disabled", Value: days(v.age(i.DisabledAt)), Unit: "days", At: i.DisabledAt, Href: v.integrationHref(p)}},
	}, true
}

// replaceCredentials advises to replace credentials before they expire. Its operation shows which ones are stored, because only
// a person can get new ones from the provider.
func replaceCredentials(v view, p string, i projection.Integration) (Recommendation, bool) {
	left := i.CredentialsEnd.Sub(v.asOf)
	if i.CredentialsEnd.IsZero() || left > credentialLeft {
		return Recommendation{}, false
	}
	end, fix := i.CredentialsEnd.Format(time.DateOnly), " Make new ones at the provider and store them."
	why := fmt.Sprintf("The credentials of %s expire on %s; then its syncs fail.", v.called(p), end)
	if left <= 0 {
		why = fmt.Sprintf("The credentials of %s expired on %s, so its syncs fail.", v.called(p), end)
	}
	r := Recommendation{
		Title: "Replace the credentials of " + v.called(p), Priority: recommendation.P2, FirstSeenAt: i.CredentialsEnd.Add(-credentialLeft),
		Operation: v.operation("get-integration", p),
		Rationale: why + fix,
		Evidence:  []Evidence{{Name: "credentials", Value: days(max(left, 0)), Unit: "days left", At: i.CredentialsEnd, Href: v.integrationHref(p)}},
	}
	if i.Connected {
		r.Title, r.Rationale = "Connect "+v.called(p)+" again", fmt.Sprintf("The provider ends the access of %s on %s; then its syncs fail. Connect it again.", v.called(p), end)
	}
	if left <= urgentExpiry {
		r.Priority = recommendation.P1
	}
	if i.Connected && left <= 0 {
		r.Rationale, r.FirstSeenAt = fmt.Sprintf("The provider has ended the access of %s on %s, so it is not synced. Connect it again.", v.called(p), end), i.CredentialsEnd
	}
	return r, true
}

// refreshCredentials leaves out connections, whose tokens are renewed. It has no operation, because only a person can get new credentials from the provider.
func refreshCredentials(v view, p string, i projection.Integration) (Recommendation, bool) {
	age := v.age(i.CredentialsAt)
	if i.CredentialsAt.IsZero() || i.Connected || age < credentialWarn {
		return Recommendation{}, false
	}
	r := Recommendation{
		Title: "Replace the credentials of " + v.called(p), Priority: recommendation.P3, FirstSeenAt: i.CredentialsAt.Add(credentialWarn),
		Rationale: fmt.Sprintf("The credentials are %s old. Make new ones at the provider and store them.", phrase.Span(age)),
		Evidence:  []Evidence{{Name: "age of the credentials", Value: days(age), Unit: "days", At: i.CredentialsAt, Href: v.integrationHref(p)}},
	}
	if age >= credentialFail {
		r.Priority = recommendation.P2
	}
	return r, true
}

// addFounder has no operation, because only a person knows whom to invite.
func addFounder(v view) []Recommendation {
	if n := v.Company.Founders; n == 0 || n >= foundersFrom {
		return nil
	}
	return []Recommendation{{
		Title: "Add a second founder", Priority: recommendation.P3, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
		Rationale:   "There is one founder. If that account is lost, nobody can administer the company.",
		Evidence:    []Evidence{{Name: "founders", Value: float64(v.Company.Founders), Unit: "users"}},
		FirstSeenAt: v.Company.CreatedAt,
	}}
}

func cancelSync(v view, p string, _ projection.Integration) (Recommendation, bool) {
	s := v.Syncs[p]
	if s.State != syncrun.Running || s.RunningSince.IsZero() || v.age(s.RunningSince) < stuckAdvice {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Cancel the sync of " + v.called(p), Priority: recommendation.P3, FirstSeenAt: s.RunningSince.Add(stuckAdvice),
		Operation: v.call("cancel-sync", "POST", "/memory/syncs/"+s.Run+"/cancel"),
		Rationale: fmt.Sprintf("It has been running for %s. While it runs, %s takes no other sync.", phrase.Span(v.age(s.RunningSince)), v.called(p)),
		Evidence: []Evidence{
			{Name: "running", Value: float64(v.age(s.RunningSince) / time.Hour), Unit: "hours", At: s.RunningSince, Href: v.href("/memory/syncs/" + s.Run)},
		},
	}, true
}

// confirmSync points at the run, because a person has to look at the provider before they confirm or cancel.
func confirmSync(v view, p string, _ projection.Integration) (Recommendation, bool) {
	s := v.Syncs[p]
	if s.State != syncrun.Awaiting {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Decide what the sync of " + v.called(p) + " may remove", Priority: recommendation.P1, FirstSeenAt: s.RunningSince,
		Operation: v.call("get-sync", "GET", "/memory/syncs/"+s.Run),
		Rationale: fmt.Sprintf("It would remove many items, so it waits. Look whether they are gone at the provider, then confirm or cancel the run. "+
			"Meanwhile %s takes no other sync. After 3 days the run ends and removes nothing.", p),
		Evidence: []Evidence{
			{Name: "waiting", Value: float64(v.age(s.RunningSince) / time.Hour), Unit: "hours", At: s.RunningSince, Href: v.href("/memory/syncs/" + s.Run)},
		},
	}, true
}

func firstSync(v view, p string, i projection.Integration) (Recommendation, bool) {
	s := v.Syncs[p]
	if !v.mayPull(i) || !s.LastSucceededAt.IsZero() || s.FailuresInRow > 0 || v.syncing(p) || v.age(i.CertifiedAt) < time.Hour {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Sync " + v.called(p) + " for the first time", Priority: recommendation.P2, FirstSeenAt: i.CertifiedAt.Add(time.Hour),
		Operation: v.operation("sync-memory", p),
		Rationale: p + " is certified, but no sync has stored anything from it yet.",
		Evidence:  []Evidence{{Name: "certified", Value: float64(v.age(i.CertifiedAt) / time.Hour), Unit: "hours", At: i.CertifiedAt, Href: v.integrationHref(p)}},
	}, true
}

// checkSilence advises a look at a source that sends by webhook and has sent nothing for long.
func checkSilence(v view, p string, i projection.Integration) (Recommendation, bool) {
	m := v.Memory.Providers[p]
	silent := v.age(m.LastChangedAt)
	if !i.Allows(v.asOf, integration.InboundReceive) || v.mayPull(i) || m.Count == 0 || silent < silentAdvice {
		return Recommendation{}, false
	}
	return Recommendation{
		Title: "Look at why " + v.called(p) + " is silent", Priority: recommendation.P4, FirstSeenAt: m.LastChangedAt.Add(silentAdvice),
		Operation: v.call("list-memories", "GET", "/memory?provider="+url.QueryEscape(p)),
		Rationale: fmt.Sprintf("%s has changed nothing in memory for %s. Check at the provider that it still sends.", v.called(p), phrase.Span(silent)),
		Evidence:  []Evidence{{Name: "silent", Value: days(silent), Unit: "days", At: m.LastChangedAt, Href: v.href("/memory?provider=" + url.QueryEscape(p))}},
	}, true
}
