package projection

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/base/wait"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

func (f *folding) integration(c store.Change) error {
	provider := c.Key[len(integration.Prefix):]
	if c.New == nil {
		f.reach(c.At)
		f.configure(provider, nil)
		return nil
	}
	was, err := decode[integration.Integration](c.Old)
	if err != nil { // it was damaged; this change repairs it
		was = integration.Integration{}
	}
	is, err := decode[integration.Integration](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	f.current(provider, is.Incarnation)
	i := shown(f.Integrations[provider], is, sandboxedAt(c, is))
	switch {
	case c.Old == nil:
		i.ChangedAt = wait.Later(i.CreatedAt, i.CertifiedAt).Truncate(time.Millisecond) // as exact as the time of a commit
	case !was.Enabled && is.Enabled || reconfigured(was, is) || newlyCertified(was, is):
		i.ChangedAt = wait.Later(i.ChangedAt, c.At.UTC()) // the clock of what wrote the change may be behind
	}
	f.configure(provider, &i)
	f.judge(provider)
	f.addIntegrationEntries(c, was, is)
	return nil
}

// sandboxedAt returns when an integration that enters the sandbox with a change did so. A new integration enters it when it
// is created.
func sandboxedAt(c store.Change, is integration.Integration) time.Time {
	switch {
	case c.Old != nil:
		return c.At.UTC()
	case is.SandboxedCause != "":
		return is.UpdatedAt.UTC()
	}
	return is.CreatedAt.UTC()
}

// shown returns i with the facts of the stored integration. It keeps the results of deliveries and syncs in i, and the ports
// that an ended certification had proven.
func shown(i Integration, is integration.Integration, sandboxed time.Time) Integration {
	if is.State == integration.Sandbox && (i.State != integration.Sandbox || i.SandboxedAt.IsZero()) {
		i.SandboxedAt = sandboxed
	}
	if is.State != integration.Sandbox {
		i.SandboxedAt = time.Time{}
	}
	i.SandboxedCause, i.SyncSeconds, i.SyncPausedAt = is.SandboxedCause, 0, time.Time{}
	if s := is.Schedule; s != nil {
		i.SyncSeconds, i.SyncPausedAt = int64(s.Interval()/time.Second), at(s.PausedAt)
	}
	i.Kind, i.Title, i.State, i.Enabled, i.Ports, i.CreatedAt = is.Kind, text.TruncateJSON(is.Title, maxCalled), is.State, is.Enabled, is.Permissions, is.CreatedAt.UTC()
	i.DisabledReason, i.DisabledAt = "", time.Time{}
	i.CertifiedAt, i.CertifiedUntil = time.Time{}, time.Time{}
	i.ClosedPorts = nil
	if is.SandboxedCause == "" {
		i.CertifiedPorts = nil
	}
	if is.Disabled != nil && !is.Enabled {
		i.DisabledReason, i.DisabledAt = is.Disabled.Reason, is.Disabled.At.UTC()
	}
	if is.Certification != nil {
		i.CertifiedAt, i.CertifiedUntil = is.Certification.PassedAt.UTC(), is.Certification.ExpiresAt.UTC()
		i.CertifiedPorts, i.ClosedPorts = is.Certification.Ports, is.Certification.Closed
	}
	i.SecretAt, i.CredentialsAt, i.CredentialsEnd, i.Connected = at(is.SecretAt), time.Time{}, time.Time{}, is.Connection != nil
	if is.Credentials != nil {
		i.CredentialsAt, i.CredentialsEnd = is.Credentials.UpdatedAt.UTC(), at(is.Credentials.ExpiresAt).Truncate(time.Second)
	}
	if i.Ports == nil {
		i.Ports = []integration.Port{}
	}
	return i
}

// addIntegrationEntries adds timeline entries for the differences between two states of an integration.
func (f *folding) addIntegrationEntries(c store.Change, was, is integration.Integration) {
	provider := strings.TrimPrefix(c.Key, integration.Prefix)
	add := func(kind timeline.Kind, actor timeline.Reference, title string, more map[string]any) {
		f.addEntry(c, kind, timeline.Entry{
			Title: title, Actor: actor, Subject: timeline.Reference{Type: "integration", ID: provider}, Details: details(more),
		})
	}
	if c.Old == nil || reconfigured(was, is) {
		actor, verb := system(), "reconfigured"
		if is.ConfiguredBy != "" {
			actor = timeline.Reference{Type: "user", ID: is.ConfiguredBy}
		}
		if c.Old == nil {
			verb = "configured"
		}
		title, more := provider+" was "+verb, map[string]any{"kind": is.Kind, "permissions": is.Permissions}
		if was.Credentials != nil && is.Credentials == nil {
			title += "; its credentials ended, because they were stored for another address"
			more["credentialsEnded"] = was.Credentials.Names
		}
		add(timeline.IntegrationConfigured, actor, title, more)
	}
	if gave := is.Connection; gave != nil && (was.Connection == nil || was.Connection.ID != gave.ID) {
		add(timeline.AccessGiven, timeline.Reference{Type: "user", ID: gave.By}, provider+" was connected at its provider", nil)
	}
	if is.Connection != nil && is.Connection.LostAt != nil && (was.Connection == nil || was.Connection.LostAt == nil) {
		add(timeline.AccessEnded, system(), "the provider of "+provider+" has ended the access; connect it again", nil)
	}
	if newlyCertified(was, is) {
		add(timeline.IntegrationCertified, system(),
			fmt.Sprintf("%s was certified until %s", provider, is.Certification.ExpiresAt.UTC().Format(time.DateOnly)),
			map[string]any{"ports": is.Certification.Ports, "expiresAt": is.Certification.ExpiresAt.UTC()})
	}
	if was.State == integration.Certified && is.State == integration.Sandbox {
		add(timeline.IntegrationSandboxed, system(), provider+" returned to the sandbox: "+whySandboxed(is.SandboxedCause),
			map[string]any{"cause": is.SandboxedCause})
	}
	if syncCloses(was, is) {
		add(timeline.IntegrationSandboxed, system(), provider+" may no longer sync: it kept failing for five days",
			map[string]any{"cause": integration.SandboxedByFailing, "ports": is.Certification.Closed})
	}
	if c.Old != nil && was.Enabled && !is.Enabled {
		reason := integration.DisabledManually
		if is.Disabled != nil {
			reason = is.Disabled.Reason
		}
		add(timeline.IntegrationDisabled, system(), provider+" was disabled: "+whyDisabled(reason), map[string]any{"reason": reason})
	}
}

func reconfigured(was, is integration.Integration) bool {
	return string(was.Config) != string(is.Config) || !slices.Equal(was.Permissions, is.Permissions)
}

func newlyCertified(was, is integration.Integration) bool {
	return is.Certification != nil && (was.Certification == nil || !was.Certification.PassedAt.Equal(is.Certification.PassedAt))
}

// syncCloses reports whether a change closes the port to sync and leaves other ports open.
func syncCloses(was, is integration.Integration) bool {
	return is.Certification != nil && len(is.Certification.Closed) > 0 && (was.Certification == nil || len(was.Certification.Closed) == 0)
}

func whySandboxed(cause string) string {
	switch cause {
	case "configuration":
		return "its configuration changed"
	case "expired":
		return "its certification expired"
	case "failing":
		return "it kept failing"
	}
	return "it is no longer certified"
}

func whyDisabled(reason string) string {
	switch reason {
	case integration.DisabledGone:
		return "its endpoint answered 410 Gone"
	case integration.DisabledFailing:
		return "no delivery reached it for five days"
	}
	return "a user asked for it"
}
