package notifier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/webhook/slack"
)

// away is a vault that opens nothing.
type away struct{ integration.Vault }

func (away) Open(context.Context, string, string, []byte) ([]byte, error) {
	return nil, errors.New("away")
}

// channel gives the company a Slack channel at a fake Slack.
func (d *desk) channel() *slacktest.Slack {
	d.T.Helper()
	fake := slacktest.New(d.T)
	d.notifier.Slack = slack.Client{Out: d.Client, URL: fake.URL, Now: d.Clock.Now}
	sealed, err := d.Vault.Seal(d.T.Context(), d.company.ID(), notice.SlackLabel, []byte(fake.WebhookURL()))
	errtest.Must(d.T, err)
	settings := notice.SlackSettings{Kinds: []notice.Kind{notice.Approval, notice.Alert}, Webhook: sealed}
	errtest.Must(d.T, d.company.Commit(d.T.Context(), notice.SaveChannel(d.company, notice.Slack, 0, settings)))
	return fake
}

func (d *desk) settings() notice.SlackSettings {
	d.T.Helper()
	var s notice.SlackSettings
	_, err := notice.LoadChannel(d.T.Context(), d.company, notice.Slack, &s)
	errtest.Must(d.T, err)
	return s
}

// posted lists the subjects of the messages that Slack has taken.
func posted(fake *slacktest.Slack) (all []string) {
	for _, m := range fake.Posted() {
		all = append(all, m.Text)
	}
	return all
}

func wantPosted(t *testing.T, fake *slacktest.Slack, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, posted(fake)); diff != "" {
		t.Errorf("messages in Slack differ (-want +got):\n%s", diff)
	}
}

// outcomes lists the notices of the Slack channel as "state reason".
func (d *desk) outcomes() (all []string) {
	for _, n := range d.notices() {
		if n.Channel == notice.Slack {
			all = append(all, strings.TrimSpace(string(n.State)+" "+n.Reason))
		}
	}
	return all
}

func TestSlack(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	d.join("bob", user.Founder)
	d.prefer("bob", func(p *notice.Preferences) { p.Channels.Alert = []notice.Channel{notice.Slack} })
	d.tell(d.alert("webhook", 1))
	d.tell(d.alert("webhook", 1))
	d.want("ada: webhook stopped")
	wantPosted(t, fake, "webhook stopped")
	d.Clock.Advance(time.Hour)
	d.tell(d.alert("webhook", 2))
	wantPosted(t, fake, "webhook stopped", "webhook stopped")
}

// Each channel has a job of its own: a Slack that does not work keeps no mail back, and a mail host that does not work no message.
func TestSlack_Apart(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	fake.Next(slacktest.Answer{Status: 429, RetryAfter: "120"})
	d.tell(d.alert("webhook", 1))
	d.want("ada: webhook stopped")
	wantPosted(t, fake)
	d.Clock.Advance(time.Minute)
	d.notifier.Sender = nil
	d.tell(d.alert("other", 1))
	if got := fake.Requests(); got != 1 {
		t.Errorf("requests = %d, want none before Retry-After is over", got)
	}
	d.Clock.Advance(time.Minute)
	d.sendAll()
	d.Clock.Advance(time.Second)
	d.sendAll()
	wantPosted(t, fake, "webhook stopped", "other stopped")
}

// A channel whose webhook was removed says so, and its readers get mails until it works again.
func TestSlack_Revoked(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	d.prefer("ada", func(p *notice.Preferences) { p.Channels.Alert = []notice.Channel{notice.Slack} })
	fake.Next(slacktest.Answer{Status: 404, Text: "no_service"})
	d.tell(d.alert("webhook", 1))
	d.want()
	if got := d.settings(); got.Failure != "Slack refused it: 404 no_service" {
		t.Errorf("failure of the channel = %q, want what Slack said", got.Failure)
	}
	d.Clock.Advance(time.Minute)
	d.tell(d.alert("other", 1))
	d.want("ada: other stopped")
	wantPosted(t, fake, "other stopped")
	if got := d.settings(); !got.FailedAt.IsZero() {
		t.Errorf("the channel counts as failed since %s, want no more", got.FailedAt)
	}
}

// Slack knows no message again, so the notifier repeats none that it may have taken.
func TestSlack_Once(t *testing.T) {
	t.Parallel()
	t.Run("an answer is lost", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		fake.Next(slacktest.Answer{Lost: true})
		d.tell(d.alert("webhook", 1))
		d.Clock.Advance(time.Hour)
		d.sendAll()
		wantPosted(t, fake, "webhook stopped")
	})
	t.Run("a worker is lost", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		whole := d.notifier
		broken := *whole
		broken.Store = unsaved{d.Store, func(ops []store.Op) bool { return len(ops) == 1 && ops[0].Entity == notice.Entity }}
		d.do(notice.Job{Matter: new(d.alert("webhook", 1))})
		all := d.notices()
		n := all[slices.IndexFunc(all, func(n notice.Stored) bool { return n.Channel == notice.Slack })]
		d.notifier = &broken
		if _, err := d.once(notice.Job{Notice: n.ID}); err == nil {
			t.Fatal("a worker whose write fails reports no error")
		}
		d.notifier = whole
		d.do(notice.Job{Notice: n.ID})
		wantPosted(t, fake, "webhook stopped")
		if got, want := d.outcomes(), []string{"failed its worker was lost; Slack may have taken the message"}; !slices.Equal(got, want) {
			t.Errorf("outcomes = %v, want %v", got, want)
		}
	})
	t.Run("the vault is away", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		whole := d.notifier.Vault
		d.notifier.Vault = away{whole}
		d.tell(d.alert("webhook", 1))
		wantPosted(t, fake)
		d.notifier.Vault = whole
		d.Clock.Advance(time.Hour)
		d.sendAll()
		wantPosted(t, fake, "webhook stopped")
	})
	t.Run("a fault of Slack is repeated", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		fake.Next(slacktest.Answer{Status: 503}, slacktest.Answer{Status: 503})
		d.tell(d.alert("webhook", 1))
		for range 3 {
			d.Clock.Advance(time.Hour)
			d.sendAll()
		}
		wantPosted(t, fake, "webhook stopped")
	})
}

// A channel takes a message a second and ten alerts an hour; the rest comes in one. An approval does not wait for that.
func TestSlack_Limits(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	for n := range 14 {
		d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("webhook-%02d", n), 1))})
	}
	d.sendAll()
	if got := len(fake.Posted()); got != 1 {
		t.Fatalf("messages within a second = %d, want 1", got)
	}
	for range 15 {
		d.Clock.Advance(time.Second)
		d.sendAll()
	}
	if got := len(fake.Posted()); got != notice.PerHour {
		t.Fatalf("messages within the hour = %d, want %d", got, notice.PerHour)
	}
	d.tell(notice.Asked(d.approval("Ship", ""), 0))
	d.Clock.Advance(time.Hour)
	d.sendAll()
	d.sendAll()
	got := posted(fake)[notice.PerHour:]
	if diff := cmp.Diff([]string{`Approval asked: goal.update "Ship"`, "4 notices"}, got); diff != "" {
		t.Errorf("messages after the hour differ (-want +got):\n%s", diff)
	}
}

// A message that brings others with it, and fails, brings them the next time, even if the hour is full meanwhile.
func TestSlack_Limits_Repeated(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	alerts := func(from, to int) {
		for n := from; n < to; n++ {
			d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("webhook-%02d", n), 1))})
		}
		for range to - from {
			d.sendAll()
			d.Clock.Advance(time.Second)
		}
	}
	alerts(0, 14)
	d.Clock.Advance(time.Hour)
	fake.Next(slacktest.Answer{Status: 503})
	d.sendAll()
	d.Clock.Advance(time.Second)
	alerts(14, 28)
	d.Clock.Advance(time.Minute)
	d.sendAll() // the hour is full
	for range 4 {
		d.Clock.Advance(time.Hour)
		all := d.notices()
		slices.SortStableFunc(all, func(a, b notice.Stored) int { return len(a.Joined) - len(b.Joined) }) // a new one first: it brings those that wait
		for _, n := range all {
			d.do(notice.Job{Notice: n.ID})
			d.Clock.Advance(time.Second)
		}
	}
	for _, got := range d.outcomes() {
		if !strings.HasPrefix(got, "sent") {
			t.Errorf("outcome %q, want sent", got)
		}
	}
}

// A hostile title is text, and no message holds the address of the webhook.
func TestSlack_Hostile(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	d.tell(notice.Asked(d.approval("<!channel> <https://evil.test|ours> *b* \u202Ex", ""), 0))
	body, err := json.Marshal(fake.Posted())
	errtest.Must(t, err)
	text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(body))
	for _, not := range []string{"<!channel", "evil.test", "*b*", "\u202E", slacktest.Webhook} {
		if strings.Contains(text, not) {
			t.Errorf("the message has %q: %s", not, text)
		}
	}
	item, err := d.company.Get(t.Context(), notice.ChannelKey(notice.Slack), nil)
	errtest.Must(t, err)
	if strings.Contains(string(item.Body), "secretsecret") {
		t.Errorf("the stored settings show the address: %s", item.Body)
	}
}

// What waits for a channel that was removed ends, and says why.
func TestSlack_Removed(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	d.do(notice.Job{Matter: new(d.alert("webhook", 1))})
	_, err := d.company.Get(t.Context(), notice.ChannelKey(notice.Slack), nil)
	errtest.Must(t, err)
	errtest.Must(t, d.company.Commit(t.Context(), d.company.Delete(notice.ChannelKey(notice.Slack), notice.ChannelEntity, 1)))
	d.sendAll()
	wantPosted(t, fake)
	if got, want := d.outcomes(), []string{"omitted the company's Slack channel was removed"}; !slices.Equal(got, want) {
		t.Errorf("outcomes = %v, want %v", got, want)
	}
}

// The channel keeps the quiet hours of the company's defaults. What reaches every founder at once does not wait.
func TestSlack_Quiet(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	d.Clock.Set(time.Date(2126, 3, 2, 22, 30, 0, 0, time.UTC))
	p := notice.Defaults()
	p.Quiet = &notice.Quiet{From: "22:00", To: "07:00"}
	errtest.Must(t, d.company.Commit(t.Context(), p.Store(d.company, notice.Everyone, 0, d.Clock.Now())...))
	d.tell(d.alert("webhook", 1))
	d.tell(notice.Asked(d.approval("Ship", ""), len(notice.Reminders())))
	wantPosted(t, fake, `Approval soon expires: goal.update "Ship"`)
	d.want(`ada: Approval soon expires: goal.update "Ship"`)
	all := d.notices()
	d.do(notice.Job{Notice: all[slices.IndexFunc(all, func(n notice.Stored) bool { return n.Kind == notice.Alert && n.Channel == notice.Slack })].ID})
	wantPosted(t, fake, `Approval soon expires: goal.update "Ship"`, "webhook stopped")
	if got := d.Clock.Now().Format("15:04"); got != "07:00" {
		t.Errorf("posted at %s, want at the end of the quiet hours", got)
	}
}
