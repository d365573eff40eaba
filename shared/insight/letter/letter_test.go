package letter_test

import (
	"encoding/json"
	"flag"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/insight/letter"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var update = flag.Bool("update", false, "write the mails of testdata")

// letters returns one mail of each name.
func letters(t *testing.T) map[string]letter.Letter {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	errtest.Must(t, err)
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	until := at.Add(24 * time.Hour)
	asked := approval.Approval{
		ID: "0198c5f2-0000-7000-8000-000000000001", Action: "goal.update", Title: "Ship the beta", PrincipalName: "Chief of Staff", State: approval.Pending,
		Principal: timeline.Reference{Type: "executive", ID: "chief"}, Reasons: []string{"closing a goal needs a person"}, RequestedAt: at, ExpiresAt: until,
	}
	webhook := integration.Integration{Provider: "webhook", State: integration.Certified, Certification: &integration.Certification{ExpiresAt: at.Add(7 * 24 * time.Hour)}}
	expiring, _ := notice.Expiring(webhook, webhook.Certification.ExpiresAt, at)
	works := integration.Integration{Provider: "webhook", Enabled: true, State: integration.Certified, Schedule: &integration.Schedule{}}
	expires := integration.Integration{Provider: "github", Credentials: &integration.CredentialNames{ExpiresAt: &until}}
	credentials, _ := notice.Expiring(expires, until, at)
	of := func(m notice.Matter) letter.Letter {
		l := letter.Letter{Company: "Acme", CompanyID: "acme", Subject: m.Subject, Why: m.Why, Content: m.Content, Base: "https://ops.example.com", Zone: berlin}
		if notice.Stops(m.Kind) {
			l.Stop = l.Base + notice.StopPath + "acme.ada." + string(m.Kind) + ".SIGNATURE"
		}
		return l
	}
	invited := notice.Invited(user.User{ID: "eve", Role: user.Member, CreatedAt: at, InvitedUntil: &until}, "Acme")
	invitation := of(notice.Matter{Kind: invited.Kind, Subject: invited.Subject, Why: invited.Why, Content: invited.Content})
	invitation.Code, invitation.CodePath = "acme.eve.CODE", invited.CodePath
	asks := notice.ResetOf("acme", "ada", 0, at)
	asks.Bring([]byte("sealed"), at.Add(30*time.Minute))
	reset := of(notice.Matter{Kind: asks.Kind, Subject: asks.Subject, Why: asks.Why, Content: asks.Content})
	reset.Company, reset.Code, reset.CodePath = "", "5MZ2NXQ4RBL6T3WUK7VYJ2CDPE", asks.CodePath
	own := func(n notice.Stored) letter.Letter {
		return of(notice.Matter{Kind: n.Kind, Subject: n.Subject, Why: n.Why, Content: n.Content})
	}
	var brief notice.Stored
	brief.Fill("Health is 92 of 100. Since 1 March, 3 things changed; one thing needs attention: Certify webhook.", []notice.Section{
		{Title: "Needs attention", Items: []string{"Certify webhook. webhook is in the sandbox."}},
		{Title: "What changed", Items: []string{"feed: configured.", "\"Ship the beta\" was closed, the last of 2 changes."}},
	})
	goal := asked
	asked.Action, asked.Title, asked.Reasons = erasure.Action, "Acme", []string{"a second person has to approve the erasure of a company"}
	asked.PrincipalName, asked.RequestedBy = "ada", timeline.Reference{Type: user.Entity, ID: "ada"}
	failed := func(edit func(*integration.Integration)) integration.Integration {
		i := works
		edit(&i)
		return i
	}
	off := failed(func(i *integration.Integration) { i.Disable(integration.DisabledFailing, at) })
	paused := failed(func(i *integration.Integration) { i.Schedule = &integration.Schedule{PausedAt: &at} })
	ada := user.User{ID: "ada", Name: "Ada Lovelace"}
	failing := delivery.Turn{Paused: true, Since: at}
	together := notice.Matter{Kind: notice.Alert, Why: "You may repair integrations."}
	together.Subject, together.Content = notice.Together([]string{"webhook was disabled", "github: the credentials soon expire", `Approval expired: goal.update "Ship"`})
	turned := func(was, is integration.Integration) letter.Letter { return of(matterOf(t, was, is, at)) }
	return map[string]letter.Letter{
		"endpoint-disabled": turned(works, off), "endpoint-recovered": turned(off, works), "sync-paused": turned(works, paused),
		"certification-ended": turned(works, works.Sandboxed(integration.SandboxedByExpiry, at)), "credentials-expiring": of(credentials),
		"erasure-asked": of(notice.Asked(asked, 0)), "erasure-asked-own": of(notice.OwnErasure(asked)),
		"export-ready":     of(notice.Exported("Acme", ada, at)[0]),
		"approval-expired": of(notice.Expired(goal)), "endpoint-paused": of(notice.Paused("webhook", failing, at)),
		"together":           of(together),
		"selection-failed":   of(notice.SelectionFailed("webhook", at)),
		"endpoint-resumed":   of(notice.Paused("webhook", delivery.Turn{Since: at}, at)),
		"brief":              of(notice.Matter{Kind: notice.Brief, Subject: brief.Subject, Why: "You chose to get the brief at this hour.", Content: brief.Content}),
		"approval-requested": of(notice.Asked(goal, 0)), "approval-waiting": of(notice.Asked(goal, 1)), "approval-escalated": of(notice.Asked(goal, 2)), "approval-expiring": of(notice.Asked(goal, 3)), "approval-undecidable": of(notice.Undecidable(goal)),
		"certification-expiring": of(expiring), "invitation": invitation, "password-reset": reset,
		"new-sign-in":  own(notice.SignedIn("acme", "ada", "203.0.113.9", "Firefox on Linux", at)),
		"factor-added": own(notice.FactorAdded("ada", "phone", at)), "factor-removed": own(notice.FactorRemoved("ada", "phone", at)),
		"recovery-codes-renewed": own(notice.RecoveryRenewed("ada", at)), "recovery-code-used": own(notice.RecoveryUsed("ada", 9, at)),
		"slack-linked":   own(notice.SlackLinked(notice.SlackLink{SlackUser: notice.SlackUser{Team: "T0001", ID: "U0001", Name: "ada"}, UserID: "ada"}, "Acme", at)),
		"passkey-copied": own(notice.PasskeyCopied("ada", "Laptop", at)),
	}
}

// matterOf returns the matter that a change of an integration tells.
func matterOf(t *testing.T, was, is integration.Integration, at time.Time) notice.Matter {
	t.Helper()
	image := func(i integration.Integration) *store.Image {
		body, err := json.Marshal(i)
		errtest.Must(t, err)
		return &store.Image{Version: 1, Body: body}
	}
	due, err := notice.Due(store.Change{Company: "acme", Entity: integration.Entity, At: at, Old: image(was), New: image(is)})
	errtest.Must(t, err)
	var j notice.Job
	errtest.Must(t, json.Unmarshal(due[0].Body, &j))
	return *j.Matter
}

func TestWrite_Golden(t *testing.T) {
	t.Parallel()
	for name, l := range letters(t) {
		m, _, err := letter.Write(l)
		errtest.Must(t, err)
		for file, got := range map[string]string{name + ".html": m.HTML, name + ".txt": "Subject: " + m.Subject + "\n\n" + m.Text} {
			path := filepath.Join("testdata", file)
			if *update {
				errtest.Must(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want, err := os.ReadFile(path)
			errtest.Must(t, err)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs (-want +got); -update writes it:\n%s", path, diff)
			}
		}
	}
}

// A mail loads nothing, links only to the service, and says the same in both parts. A link to a page of a company names the company.
func TestWrite_Rules(t *testing.T) {
	t.Parallel()
	for name, l := range letters(t) {
		m, _, err := letter.Write(l)
		errtest.Must(t, err)
		for _, not := range []string{"<img", "<script", "src=", "@import", "url(", "<form", "<link"} {
			if strings.Contains(m.HTML, not) {
				t.Errorf("%s: the HTML has %q", name, not)
			}
		}
		for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(m.HTML, -1) {
			if !strings.HasPrefix(link[1], l.Base+"/") {
				t.Errorf("%s: link %s leads away from the service", name, link[1])
			}
			if strings.Contains(link[1], "/console/") && link[1] != l.CodeTarget() && !strings.HasSuffix(link[1], "?company=acme") {
				t.Errorf("%s: link %s does not name the company", name, link[1])
			}
		}
		for _, p := range l.Content.Paragraphs {
			if !strings.Contains(m.Text, p) {
				t.Errorf("%s: the text lacks %q", name, p)
			}
			if !strings.Contains(m.HTML, html.EscapeString(p)) {
				t.Errorf("%s: the HTML lacks %q", name, p)
			}
		}
		if strings.Contains(m.Subject, "\n") {
			t.Errorf("%s: subject %q has a line break", name, m.Subject)
		}
	}
}

// What is kept of a mail has no code.
func TestWrite_Kept(t *testing.T) {
	t.Parallel()
	_, kept, err := letter.Write(letters(t)["invitation"])
	errtest.Must(t, err)
	if strings.Contains(kept, "acme.eve.CODE") {
		t.Errorf("the kept text shows the code:\n%s", kept)
	}
	if !strings.Contains(kept, letter.Hidden) {
		t.Errorf("the kept text does not show that the code is left out:\n%s", kept)
	}
	_, kept, err = letter.Write(letters(t)["brief"])
	errtest.Must(t, err)
	if strings.Contains(kept, "SIGNATURE") {
		t.Errorf("the kept text shows the link that ends the mails:\n%s", kept)
	}
}

// colours of text and background, light and dark, keep a contrast of 4.5 to 1 (WCAG 1.4.3).
func TestContrast(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("mail.html")
	errtest.Must(t, err)
	pairs := [][2]string{
		{"#1b1f24", "#ffffff"}, {"#1b1f24", "#f4f5f7"}, {"#4b535d", "#ffffff"}, {"#4b535d", "#f4f5f7"}, {"#0b57d0", "#ffffff"}, {"#1b1f24", "#eef1f4"},
		{"#e6e8ea", "#1d2125"}, {"#e6e8ea", "#14171a"}, {"#aeb6be", "#1d2125"}, {"#aeb6be", "#14171a"}, {"#8ab4f8", "#1d2125"}, {"#e6e8ea", "#2a3036"},
	}
	known := map[string]bool{"#d5d9de": true, "#3a4046": true} // borders
	for _, p := range pairs {
		known[p[0]], known[p[1]] = true, true
		if got := contrast(p[0], p[1]); got < 4.5 {
			t.Errorf("%s on %s: contrast %.2f, want 4.5", p[0], p[1], got)
		}
	}
	for _, colour := range regexp.MustCompile(`#[0-9a-f]{6}`).FindAllString(string(page), -1) {
		if !known[colour] {
			t.Errorf("colour %s is in no pair that the test compares", colour)
		}
	}
}
