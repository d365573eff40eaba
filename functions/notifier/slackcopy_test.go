package notifier_test

import (
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/webhook/slack"
)

// app gives the company a channel of a fake Slack to which the app posts.
func (d *desk) app() *slacktest.Slack {
	d.T.Helper()
	fake := slacktest.New(d.T)
	d.notifier.Slack = slack.Client{Out: d.Client, URL: fake.URL, Now: d.Clock.Now}
	sealed, err := d.Vault.Seal(d.T.Context(), d.company.ID(), vault.LabelFor(notice.SlackTokenLabel, slacktest.Team), []byte(slacktest.Token))
	errtest.Must(d.T, err)
	errtest.Must(d.T, d.company.Commit(d.T.Context(), notice.SaveChannel(d.company, notice.Slack, 0, notice.SlackSettings{
		Kinds: []notice.Kind{notice.Approval, notice.Alert}, App: &notice.SlackApp{ID: slacktest.AppID, Team: slacktest.Team, Token: sealed}, Channel: slacktest.Channel,
	})))
	return fake
}

// end ends an approval.
func (d *desk) end(a approval.Approval, s approval.State, by timeline.Reference) {
	d.T.Helper()
	ops, err := a.End(s, approval.Answer{At: d.Clock.Now(), By: by, Verdict: "permitted"}).Settle(d.T.Context(), d.company, 1)
	errtest.Must(d.T, err)
	errtest.Must(d.T, d.company.Commit(d.T.Context(), ops...))
}

func ada() timeline.Reference { return timeline.Reference{Type: "user", ID: "ada"} }

// wantLocked checks each message: it says how the approval ended, and has no buttons.
func wantLocked(t *testing.T, fake *slacktest.Slack, messages int, text string) {
	t.Helper()
	all := fake.Messages()
	if len(all) != messages {
		t.Fatalf("messages = %d, want %d", len(all), messages)
	}
	for _, m := range all {
		if got := m.Buttons(); len(got) > 0 {
			t.Errorf("the message still has the buttons %v", got)
		}
		if !strings.Contains(m.Texts(), text) {
			t.Errorf("the message lacks %q:\n%s", text, m.Texts())
		}
	}
}

func TestSlackCopies(t *testing.T) {
	t.Parallel()
	t.Run("decided", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.app()
		a := d.approval("Ship <!channel>", "")
		d.tell(notice.Asked(a, 0))
		m := fake.Messages()[0]
		want := map[string]string{slack.Approve: "acme." + a.ID, slack.Reject: "acme." + a.ID}
		for action, value := range want {
			if got := m.Buttons()[action]; got != value {
				t.Errorf("button %s has the value %q, want %q", action, got, value)
			}
		}
		for _, text := range []string{"The exact action", "goal.update", "if the policies still permit it"} {
			if !strings.Contains(m.Texts(), text) {
				t.Errorf("the message lacks %q:\n%s", text, m.Texts())
			}
		}
		if strings.Contains(m.Texts(), "<!channel") {
			t.Errorf("the title calls the channel:\n%s", m.Texts())
		}
		d.Clock.Advance(6 * time.Hour)
		d.do(notice.Job{Approval: a.ID, Step: 1})
		d.sendAll()
		d.do(notice.Job{Ended: a.ID})
		if got := fake.Messages()[0].Edits; got != 0 {
			t.Errorf("the message of an approval that waits was changed %d times", got)
		}
		d.end(a, approval.Approved, ada())
		d.do(notice.Job{Ended: a.ID})
		d.do(notice.Job{Ended: a.ID})
		wantLocked(t, fake, 2, "Approved by ada@acme.test")
		if got := fake.Messages()[0].Edits; got != 1 {
			t.Errorf("the message was changed %d times, want once", got)
		}
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.app()
		a := d.approval("Ship", "")
		d.tell(notice.Asked(a, 0))
		d.end(a, approval.Expired, timeline.Reference{Type: "system", ID: "orgops"})
		d.do(notice.Job{Ended: a.ID})
		wantLocked(t, fake, 1, "no one decided in time")
	})
	t.Run("tried again", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.app()
		a := d.approval("Ship", "")
		d.tell(notice.Asked(a, 0))
		d.end(a, approval.Rejected, ada())
		fake.Next(slacktest.Answer{Status: 429, RetryAfter: "9"}, slacktest.Answer{Text: "internal_error"})
		due, err := d.once(notice.Job{Ended: a.ID})
		errtest.Must(t, err)
		if want := d.Clock.Now().Add(9 * time.Second); !due.Equal(want) {
			t.Errorf("due = %s, want %s, as Slack asked", due, want)
		}
		if _, err := d.once(notice.Job{Ended: a.ID}); err == nil {
			t.Error("a fault of Slack is no error, so nothing tries again")
		}
		d.do(notice.Job{Ended: a.ID})
		wantLocked(t, fake, 1, "Rejected by ada@acme.test")
	})
	t.Run("ended while its message was on the way", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.app()
		a := d.approval("Ship", "")
		d.do(notice.Job{Matter: new(notice.Asked(a, 0))})
		fake.OnMessage(func() {
			d.end(a, approval.Rejected, ada())
			d.do(notice.Job{Ended: a.ID})
		})
		d.sendAll()
		wantLocked(t, fake, 1, "Rejected by ada@acme.test")
	})
	t.Run("ended while its message was on the way, and Slack has a fault then", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.app()
		a := d.approval("Ship", "")
		d.do(notice.Job{Matter: new(notice.Asked(a, 0))})
		fake.OnMessage(func() {
			d.end(a, approval.Rejected, ada())
			d.do(notice.Job{Ended: a.ID})
			fake.OnMessage(func() { fake.Next(slacktest.Answer{Text: "internal_error"}) })
		})
		post := notice.Job{Notice: d.posting().ID}
		if _, err := d.once(post); err == nil {
			t.Fatal("a fault of Slack is no error, so nothing tries again")
		}
		d.do(post)
		wantLocked(t, fake, 1, "Rejected by ada@acme.test")
	})
	t.Run("the vault is away", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.app()
		whole := d.notifier.Vault
		d.notifier.Vault = away{whole}
		d.tell(d.alert("webhook", 1))
		d.notifier.Vault = whole
		d.Clock.Advance(time.Hour)
		d.sendAll()
		if got := len(fake.Messages()); got != 1 {
			t.Errorf("messages = %d, want 1", got)
		}
	})
}

// posting returns the notice that goes to Slack.
func (d *desk) posting() notice.Stored {
	d.T.Helper()
	for _, n := range d.notices() {
		if n.Channel == notice.Slack {
			return n
		}
	}
	d.T.Fatal("no notice goes to Slack")
	return notice.Stored{}
}

// A channel that the app is not in, or a revoked token, is shown; mails go on.
func TestSlackApp_Refused(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.app()
	fake.Next(slacktest.Answer{Text: "not_in_channel"})
	d.tell(d.alert("webhook", 1))
	d.want("ada: webhook stopped")
	if got, want := d.settings().Failure, "Slack refused it: not_in_channel"; got != want {
		t.Errorf("failure = %q, want %q", got, want)
	}
	if got := len(fake.Messages()); got != 0 {
		t.Errorf("messages = %d, want none", got)
	}
}
