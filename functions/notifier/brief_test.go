package notifier_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/projector"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/slack"
)

// schedule lets a user get a brief every day at the next hour, and moves the clock to it.
func (d *desk) schedule(userID string, whenEmpty string) {
	d.T.Helper()
	p, now := notice.Defaults(), d.Clock.Now().UTC()
	due := now.Truncate(time.Hour).Add(time.Hour)
	p.Brief = &notice.BriefTimes{At: due.Format("15:04"), WhenEmpty: whenEmpty, Days: []string{
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
	}}
	errtest.Must(d.T, d.company.Commit(d.T.Context(), p.Store(d.company, userID, 0, now)...))
	d.Clock.Set(due)
	ops, err := notice.Briefed(d.T.Context(), d.company, store.Timer{At: due, Company: d.company.ID(), Kind: notice.BriefTimer, Subject: userID + "@1"}, due)
	errtest.Must(d.T, err)
	errtest.Must(d.T, d.company.Commit(d.T.Context(), ops...))
}

// happens lets something change in the company.
func (d *desk) happens(title string) {
	d.T.Helper()
	p := &projector.Projector{Store: d.Store, Logger: d.Logger, Now: d.Clock.Now}
	d.Changes(1) // those of the set-up
	i := integration.Integration{Provider: title, Kind: "feed", State: integration.Sandbox, Enabled: true, CreatedAt: d.Clock.Now()}
	errtest.Must(d.T, d.company.Commit(d.T.Context(), d.company.Create(integration.Key(title), integration.Entity, i)))
	for range 2 { // the integration, and its entry in the timeline
		errtest.Must(d.T, p.Handle(d.T.Context(), store.Batch{Changes: d.Changes(1)}))
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	t.Run("says what the page says", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.happens("feed")
		d.schedule("ada", "")
		d.sendAll()
		if len(d.post.taken) != 1 {
			t.Fatalf("mails = %v, want one", d.sent())
		}
		m := d.post.taken[0]
		for _, want := range []string{"Needs attention", "Certify feed", "What changed", "feed: configured", "https://orgops.test/console/#/"} {
			if !strings.Contains(m.Text, want) {
				t.Errorf("the text lacks %q:\n%s", want, m.Text)
			}
		}
		if want := "things need attention"; !strings.Contains(m.Subject, want) {
			t.Errorf("subject = %q, want it to say %q", m.Subject, want)
		}
	})
	t.Run("not when nothing happened", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.schedule("ada", "")
		d.sendAll()
		d.states("brief ada omitted nothing changed")
	})
	t.Run("also when nothing happened, if the person wants it", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.schedule("ada", notice.Send)
		d.sendAll()
		if got := len(d.post.taken); got != 1 {
			t.Errorf("mails = %d, want 1", got)
		}
	})
	t.Run("not for a role that may no longer read it", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.join("kim", user.Member)
		d.schedule("kim", notice.Send)
		var u user.User
		item, err := d.company.Get(t.Context(), user.Key("kim"), &u)
		errtest.Must(t, err)
		u.Role = user.Operator
		errtest.Must(t, d.company.Commit(t.Context(), d.company.Replace(item.Key, user.Entity, item.Version, u)))
		d.sendAll()
		d.states("brief kim omitted the person's role does not read the brief")
	})
	t.Run("once, by two workers", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.schedule("ada", notice.Send)
		job, ended := notice.Job{Company: d.company.ID(), Notice: d.notices()[0].ID}, make(chan struct{})
		for range 2 {
			go func() {
				defer func() { ended <- struct{}{} }()
				_, _ = d.handle(job) // one of them conflicts
			}()
		}
		<-ended
		<-ended
		if got := len(d.post.taken); got != 1 {
			t.Errorf("mails = %d, want 1", got)
		}
	})
	t.Run("in a mail of its own, on a day of many", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		for n := range notice.PerHour + 1 {
			d.tell(d.alert("webhook-"+string(rune('a'+n)), 1))
		}
		d.schedule("ada", notice.Send)
		d.sendAll()
		subjects := d.sent()[notice.PerHour:]
		if diff := cmp.Diff(1, strings.Count(strings.Join(subjects, "\n"), "Health is")+strings.Count(strings.Join(subjects, "\n"), "There is no health")); diff != "" {
			t.Errorf("briefs among %q differ (-want +got):\n%s", subjects, diff)
		}
	})
}

// everyone gives the company's defaults a brief every day at the next hour, and fires its timers.
func (d *desk) everyone(edit func(*notice.Preferences)) {
	d.T.Helper()
	now := d.Clock.Now().UTC()
	due := now.Truncate(time.Hour).Add(time.Hour)
	p := notice.Defaults()
	p.Brief = &notice.BriefTimes{At: due.Format("15:04"), Days: []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}}
	edit(&p)
	errtest.Must(d.T, d.company.Commit(d.T.Context(), p.Store(d.company, notice.Everyone, 0, now)...))
	d.Clock.Set(due)
	d.fire(due, "@1")
}

// fire fires a timer of a brief, and the timers at the same time that its writes set.
func (d *desk) fire(due time.Time, subject string) {
	d.T.Helper()
	ops, err := notice.Briefed(d.T.Context(), d.company, store.Timer{At: due, Company: d.company.ID(), Kind: notice.BriefTimer, Subject: subject}, due)
	errtest.Must(d.T, err)
	if len(ops) > 0 {
		errtest.Must(d.T, d.company.Commit(d.T.Context(), ops...))
	}
	for _, op := range ops {
		var next store.Timer
		if json.Unmarshal(op.Body, &next) == nil && next.Kind == notice.BriefTimer && next.At.Equal(due) {
			d.fire(due, next.Subject)
		}
	}
}

// posts has the Slack channel take the kinds.
func (d *desk) posts(kinds ...notice.Kind) {
	d.T.Helper()
	var s notice.SlackSettings
	version, err := notice.LoadChannel(d.T.Context(), d.company, notice.Slack, &s)
	errtest.Must(d.T, err)
	s.Kinds = kinds
	errtest.Must(d.T, d.company.Commit(d.T.Context(), notice.SaveChannel(d.company, notice.Slack, version, s)))
}

// The company's defaults bring the brief to people who have chosen nothing and read it, and to the Slack channel, once, with the same list
// of what needs attention.
func TestBrief_Everyone(t *testing.T) {
	t.Parallel()
	t.Run("to all of them, and to Slack", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		d.posts(notice.Brief)
		d.join("bob", user.Founder)
		d.prefer("bob", func(*notice.Preferences) {})
		d.join("kim", user.Operator)
		for n := range 60 {
			d.join(fmt.Sprintf("member-%02d", n), user.Member)
		}
		d.happens("feed")
		d.everyone(func(*notice.Preferences) {})
		d.sendAll()
		d.sendAll()
		to := map[string]int{}
		for _, m := range d.post.taken {
			to[strings.TrimSuffix(m.To, "@acme.test")]++
		}
		if diff := cmp.Diff([]int{1, 0, 0, 61}, []int{to["ada"], to["bob"], to["kim"], len(d.post.taken)}); diff != "" {
			t.Errorf("mails to ada, bob, kim and in all differ (-want +got):\n%s", diff)
		}
		if got := len(fake.Posted()); got != 1 {
			t.Fatalf("briefs in Slack = %d, want 1: %v", got, d.outcomes())
		}
		mailed, posted := attention(d.post.taken[0].Text), attention(texts(fake.Posted()[0]))
		if diff := cmp.Diff(mailed, posted); diff != "" {
			t.Errorf("what needs attention differs (-mail +Slack):\n%s", diff)
		}
		if want := "Certify feed"; !strings.Contains(strings.Join(mailed, "\n"), want) {
			t.Errorf("what needs attention is %q, want %q in it", mailed, want)
		}
	})
	t.Run("not when nothing happened", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		d.posts(notice.Brief)
		d.everyone(func(p *notice.Preferences) { p.Channels.Brief = []notice.Channel{} })
		d.sendAll()
		d.want()
		wantPosted(t, fake)
		if diff := cmp.Diff([]string{"omitted nothing changed"}, d.outcomes()); diff != "" {
			t.Errorf("outcomes differ (-want +got):\n%s", diff)
		}
	})
	t.Run("not to a channel that takes no briefs", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.channel()
		d.everyone(func(p *notice.Preferences) { p.Brief.WhenEmpty = notice.Send })
		d.sendAll()
		if got := d.outcomes(); len(got) > 0 {
			t.Errorf("notices for Slack = %v, want none", got)
		}
	})
	t.Run("not to who has ended it by a click", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.join("bob", user.Founder)
		for _, k := range []notice.Kind{notice.Alert, notice.Brief} {
			stop := notice.Stop{Company: d.company.ID(), UserID: map[notice.Kind]string{notice.Alert: "ada", notice.Brief: "bob"}[k], Kind: k}
			errtest.Must(t, stop.Take(t.Context(), d.company, d.Clock.Now()))
		}
		d.everyone(func(p *notice.Preferences) { p.Brief.WhenEmpty = notice.Send })
		d.sendAll()
		d.states("brief ada sent ")
	})
	t.Run("once a day, though its hour has changed", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.everyone(func(p *notice.Preferences) { p.Brief.WhenEmpty = notice.Send })
		d.sendAll()
		p := notice.Defaults()
		due := d.Clock.Now().Add(time.Hour)
		p.Brief = &notice.BriefTimes{At: due.Format("15:04"), Days: []string{strings.ToLower(due.Weekday().String())}, WhenEmpty: notice.Send}
		errtest.Must(t, d.company.Commit(t.Context(), p.Store(d.company, "ada", 0, d.Clock.Now())...))
		d.Clock.Set(due)
		d.fire(due, "ada@1")
		d.sendAll()
		d.states("brief ada sent ", "brief ada omitted the brief of the day has come")
	})
	t.Run("to the rest of the people too, if the defaults change meanwhile", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.everyone(func(p *notice.Preferences) { p.Brief.WhenEmpty = notice.Send })
		d.join("bob", user.Member)
		p, version, err := notice.LoadPreferences(t.Context(), d.company, notice.Everyone)
		errtest.Must(t, err)
		p.Quiet = &notice.Quiet{From: "02:00", To: "03:00"}
		errtest.Must(t, d.company.Commit(t.Context(), p.Store(d.company, notice.Everyone, version, d.Clock.Now())...))
		d.fire(d.Clock.Now(), "@1@"+user.Key("a"))
		d.sendAll()
		d.states("brief ada sent ", "brief bob sent ")
	})
	t.Run("at the time of the defaults as they are now", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.everyone(func(p *notice.Preferences) { p.Brief.WhenEmpty = notice.Send })
		p := notice.Defaults()
		errtest.Must(t, d.company.Commit(t.Context(), p.Store(d.company, notice.Everyone, 1, d.Clock.Now())...))
		d.fire(d.Clock.Now().Add(24*time.Hour), "@1")
		d.sendAll()
		d.states("brief ada omitted the person no longer wants it")
	})
}

// attention returns the lines of a brief about what needs attention.
func attention(text string) (lines []string) {
	_, rest, _ := strings.Cut(text, "Needs attention")
	rest, _, _ = strings.Cut(rest, "What changed")
	for line := range strings.Lines(rest) {
		if line = strings.Trim(line, "-•*\n "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// texts returns the texts of a message's sections.
func texts(m slack.Message) string {
	var all []string
	for _, b := range m.Blocks {
		if b.Text != nil {
			all = append(all, b.Text.Text)
		}
	}
	return strings.Join(all, "\n")
}
