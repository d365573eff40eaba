package notice_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/export"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"Ship the beta", "Ship the beta"},
		{"a\r\nBcc: x", "a Bcc: x"},
		{"\u202Egnp.exe", "[link]"},
		{"a\u200bb\u00adc", "abc"},
		{"see https://evil.test/a now", "see [link] now"},
		{"see www.evil.test.", "see [link]"},
		{"see аррӏе.com/x", "see [link]"},
		{"mail me@evil.test", "mail [link]"},
		{"version 1.25.3 of 2.0", "version 1.25.3 of 2.0"},
		{"e.g. this", "e.g. this"},
		{"bad \xff byte", "bad byte"},
		{strings.Repeat("ä", 300), strings.Repeat("ä", 199) + "…"},
	}
	for _, tt := range tests {
		if got := notice.Plain(tt.text); got != tt.want {
			t.Errorf("Plain(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("a\r\nb https://c")
	f.Fuzz(func(t *testing.T, text string) {
		got := notice.Plain(text)
		if strings.ContainsAny(got, "\r\n\u2028\u202e\u200b") {
			t.Errorf("Plain(%q) = %q has a character of control", text, got)
		}
		for _, not := range []string{"://", "@"} {
			if strings.Contains(got, not) {
				t.Errorf("Plain(%q) = %q has a link", text, got)
			}
		}
	})
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// Quiet hours delay to their end, in the person's zone, also over midnight and over a change of the clocks.
func TestPreferences_Due(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, to, now, want string }{
		{"22:00", "07:00", "2026-03-02T20:59:00Z", "2026-03-02T20:59:00Z"},
		{"22:00", "07:00", "2026-03-02T21:00:00Z", "2026-03-03T06:00:00Z"},
		{"22:00", "07:00", "2026-03-03T02:00:00Z", "2026-03-03T06:00:00Z"},
		{"22:00", "07:00", "2026-03-03T06:00:00Z", "2026-03-03T06:00:00Z"},
		{"22:00", "07:00", "2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"}, // the clocks go forward
		{"22:00", "07:00", "2026-10-24T22:00:00Z", "2026-10-25T06:00:00Z"}, // the clocks go back
		{"22:00", "02:30", "2026-10-25T00:15:00Z", "2026-10-25T01:30:00Z"}, // 02:30 comes twice
		{"22:00", "02:30", "2026-10-25T01:15:00Z", "2026-10-25T01:30:00Z"},
		{"01:00", "02:30", "2026-03-29T00:15:00Z", "2026-03-29T01:30:00Z"}, // there is no 02:30
		{"12:00", "13:30", "2026-03-02T11:15:00Z", "2026-03-02T12:30:00Z"},
	}
	for _, tt := range tests {
		p := notice.Defaults()
		p.TimeZone, p.Quiet = "Europe/Berlin", &notice.Quiet{From: tt.from, To: tt.to}
		if got := p.Due(notice.Alert, at(tt.now)); !got.Equal(at(tt.want)) {
			t.Errorf("quiet %s to %s: an alert at %s is due at %s, want %s", tt.from, tt.to, tt.now, got.UTC(), tt.want)
		}
		if got := p.Due(notice.Security, at(tt.now)); !got.Equal(at(tt.now)) {
			t.Errorf("a notice about access at %s is due at %s, want at once", tt.now, got)
		}
	}
	p := notice.Defaults()
	p.TimeZone, p.Quiet = "America/New_York", &notice.Quiet{From: "22:00", To: "01:30"} // west of Greenwich, the first 01:30 counts
	for now, want := range map[string]string{"2026-11-01T05:15:00Z": "2026-11-01T05:30:00Z", "2026-11-01T06:15:00Z": "2026-11-01T06:15:00Z"} {
		if got := p.Due(notice.Alert, at(now)); !got.Equal(at(want)) {
			t.Errorf("in New York, where 01:30 comes twice: an alert at %s is due at %s, want %s", now, got.UTC(), want)
		}
	}
}

func TestInvites_Add(t *testing.T) {
	t.Parallel()
	var n notice.Invites
	taken := 0
	for i := range notice.InvitesPerDay + 20 {
		if n.Add(fmt.Sprintf("user%d@acme.test", i/2)) {
			taken++
		}
	}
	if taken != notice.InvitesPerDay {
		t.Errorf("mails of a day = %d, want %d", taken, notice.InvitesPerDay)
	}
	var one notice.Invites
	for i := range notice.InvitesPerAddress {
		if !one.Add("Eve@acme.test") {
			t.Errorf("mail %d to the address is refused", i)
		}
	}
	if one.Add("eve@ACME.test") {
		t.Error("the address gets another mail, written otherwise")
	}
}

func change(t *testing.T, entity string, was, is any) store.Change {
	t.Helper()
	image := func(v any) *store.Image {
		if v == nil {
			return nil
		}
		body, err := json.Marshal(v)
		errtest.Must(t, err)
		return &store.Image{Version: 1, Body: body}
	}
	return store.Change{Company: "acme", Entity: entity, At: at("2026-03-02T12:00:00Z"), Old: image(was), New: image(is)}
}

// due lists the messages of a change, as "what at".
func due(t *testing.T, c store.Change) (all []string) {
	t.Helper()
	messages, err := notice.Due(c)
	errtest.Must(t, err)
	for _, m := range messages {
		var j notice.Job
		errtest.Must(t, json.Unmarshal(m.Body, &j))
		what := j.Notice + j.Approval + j.Provider + j.Exporter
		if j.Matter != nil {
			what = j.Matter.Name
		}
		if j.Ended != "" {
			what = "ended " + j.Ended
		}
		when := "now"
		if !m.Due.IsZero() {
			when = m.Due.UTC().Format(time.RFC3339)
		}
		all = append(all, what+" "+when)
	}
	return all
}

func TestDue(t *testing.T) {
	t.Parallel()
	asked := at("2026-03-02T12:00:00Z")
	pending := approval.Approval{ID: "a1", State: approval.Pending, RequestedAt: asked, ExpiresAt: asked.Add(approval.Waits)}
	works := integration.Integration{Provider: "webhook", Enabled: true, State: integration.Certified}
	edit := func(f func(*integration.Integration)) integration.Integration {
		i := works
		f(&i)
		return i
	}
	end := asked.Add(90 * 24 * time.Hour)
	exported := audit.Record{Operation: export.Operation, Resource: export.Complete, Outcome: "success", Actor: audit.Actor{UserID: "ada"}}
	record := func(f func(*audit.Record)) audit.Record {
		r := exported
		f(&r)
		return r
	}
	disabled := func(reason string) integration.Integration {
		return edit(func(i *integration.Integration) { i.Disable(reason, asked) })
	}
	tests := []struct {
		name string
		c    store.Change
		want []string
	}{
		{"an approval", change(t, approval.Entity, nil, pending), []string{"approval-requested now", "a1 2026-03-02T18:00:00Z", "a1 2026-03-03T00:00:00Z", "a1 2026-03-03T06:00:00Z"}},
		{"an approval that expired", change(t, approval.Entity, pending, pending.End(approval.Expired, approval.Answer{})), []string{"ended a1 now", "approval-expired now"}},
		{"a decided approval", change(t, approval.Entity, pending, pending.End(approval.Approved, approval.Answer{})), []string{"ended a1 now"}},
		{"a notice", change(t, notice.Entity, nil, notice.Stored{Notice: notice.Notice{ID: "n1", State: notice.Waiting, DueAt: asked}}), []string{"n1 2026-03-02T12:00:00Z"}},
		{"an endpoint that fails", change(t, integration.Entity, works, disabled(integration.DisabledFailing)), []string{"endpoint-disabled now"}},
		{"an endpoint that a user disables", change(t, integration.Entity, works, disabled(integration.DisabledManually)), nil},
		{"an endpoint that is gone", change(t, integration.Entity, works, disabled(integration.DisabledGone)), []string{"endpoint-disabled now"}},
		{"an endpoint that is enabled again", change(t, integration.Entity, disabled(integration.DisabledGone), works), []string{"endpoint-recovered now"}},
		{"an ended certification", change(t, integration.Entity, works, works.Sandboxed(integration.SandboxedByExpiry, asked)), []string{"certification-ended now"}},
		{"a changed configuration", change(t, integration.Entity, works, works.Sandboxed(integration.SandboxedByChange, asked)), nil},
		{"a source that fails", change(t, integration.Entity, works, works.Sandboxed(integration.SandboxedByFailing, asked)), []string{"certification-ended now"}},
		{"a paused schedule", change(t, integration.Entity, edit(func(i *integration.Integration) { i.Schedule = &integration.Schedule{} }),
			edit(func(i *integration.Integration) { i.Schedule = &integration.Schedule{PausedAt: &asked} })), []string{"sync-paused now"}},
		{"a certification", change(t, integration.Entity, works, edit(func(i *integration.Integration) { i.Certification = &integration.Certification{ExpiresAt: end} })),
			[]string{"webhook 2026-05-24T12:00:00Z"}},
		{"credentials that expire", change(t, integration.Entity, works, edit(func(i *integration.Integration) { i.Credentials = &integration.CredentialNames{ExpiresAt: &end} })),
			[]string{"webhook 2026-05-24T12:00:00Z"}},
		{"an export by a person", change(t, audit.Entity, nil, exported), []string{"ada now"}},
		{"the first page of an export", change(t, audit.Entity, nil, record(func(r *audit.Record) { r.Resource = export.Resource })), nil},
		{"an export by a client", change(t, audit.Entity, nil, record(func(r *audit.Record) { r.Actor = audit.Actor{ClientID: "c"} })), nil},
		{"a refused export", change(t, audit.Entity, nil, record(func(r *audit.Record) { r.Outcome = "denied" })), nil},
		{"another operation", change(t, audit.Entity, nil, record(func(r *audit.Record) { r.Operation = "get-usage" })), nil},
		{"a removed integration", change(t, integration.Entity, works, nil), nil},
		{"another entity", change(t, "goal", nil, pending), nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, due(t, tt.c)); diff != "" {
			t.Errorf("%s: messages differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestExpiring(t *testing.T) {
	t.Parallel()
	now := at("2026-03-02T12:00:00Z")
	end := now.Add(5 * 24 * time.Hour)
	i := integration.Integration{Provider: "github", State: integration.Certified, Certification: &integration.Certification{ExpiresAt: end}}
	m, _ := notice.Expiring(i, end, now)
	if m.Name != "certification-expiring" {
		t.Errorf("matter = %+v, want an expiring certification", m)
	}
	if !m.Until.Equal(end) {
		t.Errorf("the matter is of use until %s, want %s", m.Until, end)
	}
	i.Credentials = &integration.CredentialNames{ExpiresAt: &end}
	i.Certification = &integration.Certification{ExpiresAt: end.Add(time.Hour)}
	if m, _ := notice.Expiring(i, end, now); m.Name != "credentials-expiring" {
		t.Errorf("matter = %+v, want expiring credentials", m)
	}
	for name, at := range map[string]time.Time{"renewed": end.Add(time.Minute), "long over": now.Add(-time.Hour)} {
		if m, ok := notice.Expiring(i, at, now); ok {
			t.Errorf("%s: matter = %+v, want none", name, m)
		}
	}
	if !slices.Equal(m.To, notice.Deciders()) {
		t.Errorf("roles = %v, want those who repair integrations", m.To)
	}
}
