package notice

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Ahead is how long before something of an integration expires its people are told.
const Ahead = 7 * 24 * time.Hour

// ofIntegration returns the messages about a change of an integration.
func ofIntegration(c store.Change) ([]queue.Message, error) {
	var was, is integration.Integration
	if c.Old != nil && json.Unmarshal(c.Old.Body, &was) != nil || json.Unmarshal(c.New.Body, &is) != nil {
		return nil, nil //nolint:nilerr // the integration counts as damaged, as for its events, and others go on
	}
	var all []queue.Message
	if m, ok := turned(was, is, c.At); ok && c.Old != nil {
		m = m.of(is.Incarnation)
		told, err := messages(time.Time{}, Job{Company: c.Company, Matter: &m})
		if err != nil {
			return nil, err
		}
		all = told
	}
	for _, end := range ends(is) {
		if slices.ContainsFunc(ends(was), end.Equal) || !end.After(c.At) {
			continue
		}
		m, err := messages(end.Add(-Ahead), Job{Company: c.Company, Provider: is.Provider, Expires: end})
		if err != nil {
			return nil, err
		}
		all = append(all, m...)
	}
	return all, nil
}

// ends lists when the certification and the credentials of an integration expire.
func ends(i integration.Integration) (all []time.Time) {
	if i.State == integration.Certified && i.Certification != nil {
		all = append(all, i.Certification.ExpiresAt)
	}
	if i.Credentials != nil && i.Credentials.ExpiresAt != nil {
		all = append(all, *i.Credentials.ExpiresAt)
	}
	return all
}

// Expiring returns the matter of something of an integration that expires at a time; ok is false if it was renewed meanwhile.
func Expiring(i integration.Integration, expires, now time.Time) (m Matter, ok bool) {
	var what string
	switch {
	case i.State == integration.Certified && i.Certification != nil && i.Certification.ExpiresAt.Equal(expires):
		what = "certification"
	case i.Credentials != nil && i.Credentials.ExpiresAt != nil && i.Credentials.ExpiresAt.Equal(expires):
		what = "credentials"
	default:
		return Matter{}, false
	}
	if !expires.After(now) {
		return Matter{}, false
	}
	m = alert(i.Provider, what+"-expiring", expires.Add(-Ahead), fmt.Sprintf("%s: the %s soon expire", i.Provider, what),
		map[string]string{
			"certification": "The integration works only while it is certified. Certify it again before this time.",
			"credentials":   "The integration cannot fetch without credentials. Store new ones before this time.",
		}[what])
	if what == "certification" {
		m.Subject = i.Provider + ": the certification soon expires"
	}
	m.Content.Facts = append(m.Content.Facts, Fact{Name: "Expires", At: expires})
	m.Content.Link, m.Until = &Link{"Sign in and renew", "/console/#/integrations/" + i.Provider}, expires
	return m.of(i.Incarnation), true
}

// turned returns the matter of an integration that stopped working by itself, or that works again after that.
func turned(was, is integration.Integration, at time.Time) (m Matter, ok bool) {
	stopped := func(i integration.Integration) string {
		if !i.Enabled && i.Disabled != nil && (i.Disabled.Reason == integration.DisabledFailing || i.Disabled.Reason == integration.DisabledGone) {
			return i.Disabled.Reason
		}
		return ""
	}
	returned := is.State == integration.Sandbox && was.State == integration.Certified
	switch {
	case stopped(is) != "" && was.Enabled:
		why := "No delivery has reached the endpoint for five days, so it was disabled. Its events are held until it is enabled."
		if stopped(is) == integration.DisabledGone {
			why = "The endpoint answered 410 Gone, so it was disabled. Its events are held until it is enabled."
		}
		m = alert(is.Provider, "endpoint-disabled", at, is.Provider+" was disabled", why)
		m.Turn = Begins
	case stopped(was) != "" && is.Enabled:
		m = alert(is.Provider, "endpoint-recovered", at, is.Provider+" is enabled again", "The integration was enabled again. Events that were held can be recovered.")
		m.Turn = Ends
	case returned && is.SandboxedCause == integration.SandboxedByExpiry:
		m = alert(is.Provider, "certification-ended", at, is.Provider+": the certification has expired", "The integration is back in the sandbox, where its requests take no effect. Certify it again.")
	case returned && is.SandboxedCause == integration.SandboxedByFailing:
		m = alert(is.Provider, "certification-ended", at, is.Provider+" failed for five days", "The integration is back in the sandbox. Repair the cause and certify it again.")
	case was.Schedule != nil && is.Schedule != nil && was.Schedule.PausedAt == nil && is.Schedule.PausedAt != nil:
		m = alert(is.Provider, "sync-paused", at, is.Provider+": syncs are paused", "Five syncs in a row have failed, so the schedule was paused. Repair the cause and resume it.")
	default:
		return Matter{}, false
	}
	return m, true
}

func alert(provider, name string, at time.Time, subject, text string) Matter {
	return Matter{
		Kind: Alert, Name: name, About: "integration:" + provider, At: at, Subject: subject, Why: "You may repair integrations.", To: Deciders(),
		Content: Content{
			Paragraphs: []string{text}, Facts: []Fact{{Name: "Integration", Value: provider}, {Name: "Time", At: at}},
			Link: &Link{"Sign in and look", "/console/#/integrations/" + provider},
		},
	}
}
