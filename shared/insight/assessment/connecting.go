package assessment

import (
	"fmt"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
)

// Thresholds of ages.
const (
	secretWarn        = 90 * day
	secretFail        = 180 * day
	credentialWarn    = 180 * day
	credentialFail    = 365 * day
	certificationWarn = 14 * day // before the certification ends
	syncWarn          = day
	syncFail          = 7 * day
	syncFailuresFail  = 3 // in a row
)

func (v view) hasSecret() bool {
	return v.any(func(i projection.Integration) bool { return !i.SecretAt.IsZero() })
}

func (v view) hasCredentials() bool {
	return v.any(func(i projection.Integration) bool { return !i.CredentialsAt.IsZero() })
}

func (v view) hasCertified() bool {
	return v.any(func(i projection.Integration) bool { return i.State == integration.Certified })
}

// pulls reports whether syncs may fetch from any source.
func (v view) pulls() bool { return v.any(v.mayPull) }

func (v view) mayPull(i projection.Integration) bool { return i.Allows(v.asOf, integration.SyncPull) }

func secretAge(v view) verdict {
	return v.oldest("signing secret", func(i projection.Integration) time.Time { return i.SecretAt },
		secretWarn, secretFail, "rotate-integration-secret")
}

func credentialAge(v view) verdict {
	return v.oldest("credentials", func(i projection.Integration) time.Time { return i.CredentialsAt },
		credentialWarn, credentialFail, "put-integration-credentials")
}

// oldest grades the age of the oldest item of a kind that integrations may have, such as signing secrets.
func (v view) oldest(what string, made func(projection.Integration) time.Time, warn, fail time.Duration, operation string) verdict {
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
	found.reason = fmt.Sprintf("the oldest, of %s, is %s old; %s is a warning, %s a failure", provider, span(oldest), span(warn), span(fail))
	if found.status != Pass {
		found.remedy = v.remedy(operation, provider)
	}
	return found
}

func certificationExpiry(v view) verdict {
	found := verdict{status: Pass, reason: "no certification ends within 14 days"}
	for _, p := range v.providers {
		i := v.Integrations[p]
		if i.State != integration.Certified {
			continue
		}
		left := i.CertifiedUntil.Sub(v.asOf)
		found.evidence = append(found.evidence, Evidence{
			Name: "certification of " + p, Value: days(max(left, 0)), Unit: "days left", At: i.CertifiedUntil, Href: v.integrationHref(p) + "/certification",
		})
		switch {
		case left <= 0 && found.status != Fail:
			found.status, found.reason, found.remedy = Fail, "the certification of "+p+" has ended", v.remedy("certify-integration", p)
		case left > 0 && left <= certificationWarn && found.status == Pass:
			found.status, found.remedy = Warn, v.remedy("certify-integration", p)
			found.reason = fmt.Sprintf("the certification of %s ends in %s", p, span(left))
		}
	}
	return found
}

// unsynced returns the time since a source's last successful sync, or since its certification if that is later.
func (v view) unsynced(provider string) time.Duration {
	last := v.Integrations[provider].CertifiedAt
	if s := v.Syncs[provider]; s.LastSucceededAt.After(last) {
		last = s.LastSucceededAt
	}
	return v.age(last)
}

func syncFreshness(v view) verdict {
	var found verdict
	worst, provider := time.Duration(-1), ""
	for _, p := range v.providers {
		if !v.mayPull(v.Integrations[p]) {
			continue
		}
		age := v.unsynced(p)
		found.evidence = append(found.evidence, Evidence{
			Name: "since " + p + " was synced", Value: float64(age / time.Hour), Unit: "hours", At: v.Syncs[p].LastSucceededAt, Href: v.href("/memory/syncs"),
		})
		if age > worst {
			worst, provider = age, p
		}
	}
	found.status = grade(worst, syncWarn, syncFail)
	found.reason = fmt.Sprintf("%s has not been synced for %s; %s is a warning, %s a failure", provider, span(worst), span(syncWarn), span(syncFail))
	if found.status == Pass {
		found.reason = "every source was synced, or certified, within a day"
		return found
	}
	found.remedy = v.remedy("sync-memory", provider)
	return found
}

func syncFailures(v view) verdict {
	found := verdict{status: Unknown, reason: "no live sync has ended yet"}
	worst := -1
	for _, p := range v.providers {
		s, ran := v.Syncs[p]
		if !v.mayPull(v.Integrations[p]) || !ran || s.LastSucceededAt.IsZero() && s.FailuresInRow == 0 {
			continue
		}
		found.evidence = append(found.evidence, Evidence{
			Name: "failed syncs of " + p + " in a row", Value: float64(s.FailuresInRow), Unit: "runs", At: s.FailingSince, Href: v.href("/memory/syncs/" + s.Run),
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
			found.remedy = v.remedy("sync-memory", p)
			found.reason = fmt.Sprintf("the last %s of %s failed; one is a warning, %d in a row are a failure", plural(worst, "sync", "syncs"), p, syncFailuresFail)
		}
	}
	return found
}
