package assessment

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
)

// Thresholds of ages.
const (
	secretWarn        = 90 * day
	secretFail        = 180 * day
	credentialWarn    = 180 * day
	credentialFail    = 365 * day
	credentialLeft    = 14 * day // before the credentials expire
	certificationWarn = 14 * day // before the certification ends
	syncWarn          = day      // without a schedule
	syncFail          = 7 * day
	syncFailuresFail  = 3 // in a row
)

// Freshness follows a source's own rhythm. A source with a schedule may miss one sync, and fails after missedFail of them. A
// source without one may be as slow as between its last syncs, up to slowest, and need not be faster than the thresholds above.
const (
	missedFail  = 7
	leastWarn   = time.Hour
	leastFail   = 6 * time.Hour
	slowestWarn = 14 * day
	slowestFail = 30 * day
)

// freshness returns when a source that was not synced for so long warns and fails.
func (v view) freshness(provider string) (warn, fail time.Duration) {
	if every := time.Duration(v.Integrations[provider].SyncSeconds) * time.Second; every > 0 {
		return max(2*every, leastWarn), max(missedFail*every, leastFail)
	}
	var rhythm time.Duration
	runs := v.Syncs[provider].Successes
	for n := 1; n < len(runs); n++ {
		rhythm = max(rhythm, runs[n].Sub(runs[n-1]))
	}
	return min(max(2*rhythm, syncWarn), slowestWarn), min(max(missedFail*rhythm, syncFail), slowestFail)
}

func (v view) hasSecret() bool {
	return v.any(func(i projection.Integration) bool { return !i.SecretAt.IsZero() })
}

func (v view) hasCredentials() bool {
	return v.any(func(i projection.Integration) bool { return !i.CredentialsAt.IsZero() })
}

// hasCertified reports whether a connector is certified, or was until its certification ended.
func (v view) hasCertified() bool {
	return v.any(func(i projection.Integration) bool { return i.State == integration.Certified || lapsed(i) })
}

// lapsed reports whether a connector is in the sandbox because its certification ended.
func lapsed(i projection.Integration) bool {
	return i.State == integration.Sandbox && i.SandboxedCause == integration.SandboxedByExpiry
}

// pulls reports whether the company has a source that syncs.
func (v view) pulls() bool { return slices.ContainsFunc(v.providers, v.synced) }

// synced reports whether a source syncs: it may, or it might until its certification ended. A source that lost its
// certification still counts, because otherwise a worse fact would hide its failures.
func (v view) synced(provider string) bool {
	i := v.Integrations[provider]
	return i.Enabled && i.Proved(integration.SyncPull)
}

func (v view) mayPull(i projection.Integration) bool { return i.Allows(v.asOf, integration.SyncPull) }

func secretAge(v view) verdict {
	return v.oldest("signing secret", func(i projection.Integration) time.Time { return i.SecretAt },
		secretWarn, secretFail, rotation)
}

// rotation returns the operation that begins a new signing secret. The secret of an integration that only receives is made at the
// provider, and its page says how.
func rotation(i projection.Integration) string {
	if isEndpoint(i) {
		return "rotate-integration-secret"
	}
	return "get-integration"
}

// storedAt returns when credentials were stored by hand, or zero. The service renews those of a connection.
func storedAt(i projection.Integration) time.Time {
	if i.Connected {
		return time.Time{}
	}
	return i.CredentialsAt
}

func credentialAge(v view) verdict {
	return v.oldest("credentials", storedAt,
		credentialWarn, credentialFail, func(projection.Integration) string { return "put-integration-credentials" })
}

// hasExpiry reports whether it is known of any credentials when they expire.
func (v view) hasExpiry() bool {
	return v.any(func(i projection.Integration) bool { return !i.CredentialsEnd.IsZero() })
}

func credentialExpiry(v view) verdict {
	found := verdict{status: Pass, reason: "no credentials expire within 14 days"}
	for _, p := range v.providers {
		end := v.Integrations[p].CredentialsEnd
		if end.IsZero() {
			continue
		}
		found.until(v, p, end, term{"credentials", "have expired", "expire", "put-integration-credentials", credentialLeft})
	}
	return found
}

// oldest grades the age of the oldest item of a kind that integrations may have, such as signing secrets.
func (v view) oldest(what string, made func(projection.Integration) time.Time, warn, fail time.Duration, operation func(projection.Integration) string) verdict {
	var found verdict
	oldest, provider := time.Duration(-1), ""
	for _, p := range v.providers {
		at := made(v.Integrations[p])
		if at.IsZero() {
			continue
		}
		age := v.age(at)
		found.evidence = append(found.evidence, Evidence{Name: what + " of " + p, Value: days(age), Unit: "days", At: at, Href: v.integrationHref(p)})
		if age > oldest {
			oldest, provider = age, p
		}
	}
	found.status = grade(oldest, warn, fail)
	found.reason = fmt.Sprintf("the oldest, of %s, is %s old; %s is a warning, %s a failure", v.called(provider), phrase.Span(oldest), phrase.Span(warn), phrase.Span(fail))
	if found.status != Pass {
		found.remedy = v.remedy(operation(v.Integrations[provider]), provider)
	}
	return found
}

func certificationExpiry(v view) verdict {
	found := verdict{status: Pass, reason: "no certification ends within 14 days"}
	for _, p := range v.providers {
		i := v.Integrations[p]
		end := i.CertifiedUntil
		if lapsed(i) {
			end = i.SandboxedAt.Truncate(time.Minute) // asOf has no seconds either
		} else if i.State != integration.Certified {
			continue
		}
		found.until(v, p, end, term{"certification", "has ended", "ends", "certify-integration", certificationWarn})
	}
	return found
}

// unsynced returns the time since a source's last successful sync, or since its creation or certification if that is later.
func (v view) unsynced(provider string) time.Duration {
	i := v.Integrations[provider]
	last := i.CreatedAt
	if i.CertifiedAt.After(last) {
		last = i.CertifiedAt
	}
	if s := v.Syncs[provider]; s.LastSucceededAt.After(last) {
		last = s.LastSucceededAt
	}
	return v.age(last)
}

func syncFreshness(v view) verdict {
	found := verdict{status: Pass, reason: "every source was synced, or certified, as often as usual"}
	for _, p := range v.providers {
		if !v.synced(p) {
			continue
		}
		age := v.unsynced(p)
		found.evidence = append(found.evidence, Evidence{
			Name: "since " + p + " was synced", Value: float64(age / time.Hour), Unit: "hours", At: v.Syncs[p].LastSucceededAt, Href: v.syncsHref(p),
		})
		warn, fail := v.freshness(p)
		status := grade(age, warn, fail)
		if status == Pass || status == found.status || found.status == Fail {
			continue
		}
		found.status, found.remedy = status, v.remedy(v.syncOperation(p), p)
		found.reason = fmt.Sprintf("%s has not been synced for %s; %s is a warning, %s a failure", v.called(p), phrase.Span(age), phrase.Span(warn), phrase.Span(fail))
	}
	return found
}

// syncsHref returns the path that lists a source's runs. A single run expires before the context forgets its outcome.
func (v view) syncsHref(provider string) string {
	return v.href("/memory/syncs?provider=" + url.QueryEscape(provider))
}

// syncOperation names the operation with which a source syncs again.
func (v view) syncOperation(provider string) string {
	switch i := v.Integrations[provider]; {
	case !v.mayPull(i):
		return "certify-integration"
	case !i.SyncPausedAt.IsZero():
		return "enable-integration"
	}
	return "sync-memory"
}

func syncFailures(v view) verdict {
	found := verdict{status: Unknown, reason: "no live sync has ended yet"}
	worst := -1
	for _, p := range v.providers {
		s, ran := v.Syncs[p]
		if !v.synced(p) || !ran || s.LastSucceededAt.IsZero() && s.FailuresInRow == 0 {
			continue
		}
		found.evidence = append(found.evidence, Evidence{
			Name: "failed syncs of " + p + " in a row", Value: float64(s.FailuresInRow), Unit: "runs", At: s.FailingSince, Href: v.syncsHref(p),
		})
		if s.FailuresInRow <= worst {
			continue
		}
		worst = s.FailuresInRow
		switch {
		case worst == 0:
			found.status, found.reason = Pass, "the last sync of every source succeeded"
		case worst < syncFailuresFail:
			found.status = Warn
		default:
			found.status = Fail
		}
		if worst > 0 {
			found.remedy = v.remedy(v.syncOperation(p), p)
			found.reason = fmt.Sprintf("the last %s of %s failed; one is a warning, %d in a row are a failure", phrase.Plural(worst, "sync", "syncs"), v.called(p), syncFailuresFail)
		}
	}
	return found
}

// term says in words what of an integration ends, the operation that renews it, and how long before the end a check warns.
type term struct {
	what, ended, ends, renew string
	warn                     time.Duration
}

// until adds to a verdict that a provider's term has its end at a time. The first problem decides, and a failure goes before a warning.
func (found *verdict) until(v view, provider string, end time.Time, t term) {
	left := end.Sub(v.asOf)
	found.evidence = append(found.evidence, Evidence{
		Name: t.what + " of " + provider, Value: days(max(left, 0)), Unit: daysLeft, At: end, Href: v.integrationHref(provider),
	})
	subject := "the " + t.what + " of " + v.called(provider) + " "
	switch {
	case left <= 0 && found.status != Fail:
		found.status, found.reason, found.remedy = Fail, subject+t.ended, v.remedy(t.renew, provider)
	case left > 0 && left <= t.warn && found.status == Pass:
		found.status, found.reason, found.remedy = Warn, subject+t.ends+" in "+phrase.Span(left), v.remedy(t.renew, provider)
	}
}
