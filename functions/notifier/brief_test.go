package notifier_test

import (
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
