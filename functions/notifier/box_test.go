package notifier_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
)

// turn tells that deliveries to the webhook pause or go on, and sends what is due. The clock goes on by a minute.
func (d *desk) turn(paused bool) {
	d.T.Helper()
	d.Clock.Advance(time.Minute)
	d.turns(paused)
	d.sendAll()
}

// turns stores the notice that deliveries to the webhook pause or go on.
func (d *desk) turns(paused bool) {
	d.T.Helper()
	d.do(notice.Job{Matter: new(notice.Paused("webhook", delivery.Turn{Paused: paused, Since: d.Clock.Now()}, d.Clock.Now()))})
}

const (
	pauses  = "webhook does not take deliveries"
	pauses1 = "ada: " + pauses
	goes1   = "ada: webhook takes deliveries again"
)

// fill tells as many alerts as a person or a channel gets in an hour, one a second.
func (d *desk) fill() {
	d.T.Helper()
	for n := range notice.PerHour {
		d.tell(d.alert(fmt.Sprintf("full-%02d", n), 1))
		d.Clock.Advance(time.Second)
	}
}

// later sends what is due an hour later, twice: what is in one mail with others has a turn too.
func (d *desk) later() {
	d.T.Helper()
	d.Clock.Advance(time.Hour)
	d.sendAll()
	d.Clock.Advance(time.Second)
	d.sendAll()
}

// A matter that turns is told however often it is tried: what was not taken was not said.
func TestBox_Turns(t *testing.T) {
	t.Parallel()
	t.Run("Slack throttles it", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		d.prefer("ada", func(p *notice.Preferences) { p.Channels.Alert = []notice.Channel{notice.Slack} })
		fake.Next(slacktest.Answer{Status: 429, RetryAfter: "120"})
		d.turn(true)
		wantPosted(t, fake)
		d.later()
		wantPosted(t, fake, pauses)
	})
	t.Run("it turns before it is tried again", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.turn(true)
		d.post.fails = []error{errors.New("451")}
		d.turn(false)
		d.Clock.Advance(time.Second)
		d.turns(true)
		d.later()
		d.want(pauses1, pauses1)
	})
	t.Run("it turns back and forth before it is tried again", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.post.fails = []error{errors.New("451")}
		d.turn(true)
		for _, paused := range []bool{false, true} {
			d.Clock.Advance(time.Second)
			d.turns(paused)
		}
		d.later()
		d.want(pauses1)
	})
	t.Run("both turns wait for the end of the hour", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.fill()
		d.turn(true)
		d.turn(false)
		d.Clock.Advance(time.Hour)
		d.sendAll()
		d.turn(true)
		d.later()
		d.turn(false)
		if diff := cmp.Diff([]string{pauses1, goes1}, d.sent()[notice.PerHour:]); diff != "" {
			t.Errorf("mails after the hour differ (-want +got):\n%s", diff)
		}
	})
	t.Run("it begins and ends in quiet hours", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		quiet := &notice.Quiet{From: "22:00", To: "07:00"}
		for _, of := range []string{"ada", notice.Everyone} {
			d.prefer(of, func(p *notice.Preferences) { p.Quiet = quiet })
		}
		d.Clock.Set(time.Date(2126, 3, 2, 22, 30, 0, 0, time.UTC))
		d.turn(true)
		d.turn(false)
		d.turn(true)
		d.turn(false)
		d.Clock.Set(time.Date(2126, 3, 3, 7, 0, 0, 0, time.UTC))
		d.later()
		d.want()
		wantPosted(t, fake)
	})
	t.Run("it began in quiet hours, and lasts", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.prefer("ada", func(p *notice.Preferences) { p.Quiet = &notice.Quiet{From: "22:00", To: "07:00"} })
		d.Clock.Set(time.Date(2126, 3, 2, 22, 30, 0, 0, time.UTC))
		d.turn(true)
		d.Clock.Set(time.Date(2126, 3, 3, 7, 0, 0, 0, time.UTC))
		d.sendAll()
		d.turn(false)
		d.want(pauses1, goes1)
	})
	t.Run("it ends days later, after many other matters", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.turn(true)
		d.Clock.Advance(3 * 24 * time.Hour)
		for n := range 301 {
			d.Clock.Advance(time.Second)
			d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("full-%03d", n), 1))})
		}
		d.Clock.Advance(3 * 24 * time.Hour)
		d.turns(false)
		if got := d.named("endpoint-resumed"); got.State != notice.Waiting {
			t.Errorf("the end of the pause is %s, want that it waits for its mail", got.State)
		}
	})
	t.Run("it begins again days later, and no end was heard of, because the endpoint was removed", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.turn(true)
		d.Clock.Advance(24 * time.Hour)
		d.turn(true)
		d.turn(false)
		d.want(pauses1, pauses1, goes1)
	})
	t.Run("it ends for a person who came after it had begun", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.turn(true)
		d.join("bob", user.Operator)
		d.turn(false)
		d.want(pauses1, goes1)
	})
}

// What goes with another notice's mail is looked at like that notice.
func TestBox_Joined(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.fill()
	d.tell(d.alert("webhook", 1))
	a := d.approval("Ship", "")
	d.tell(notice.Asked(a, 0))
	d.end(a, approval.Rejected, timeline.Reference{})
	d.later()
	if got := d.sent()[notice.PerHour:]; !slices.Equal(got, []string{"ada: webhook stopped"}) {
		t.Errorf("mails after the hour = %v, want that of the alert alone", got)
	}
}

// Notices whose mail is given up go in another one.
func TestBox_Left(t *testing.T) {
	t.Parallel()
	t.Run("in a mail", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.fill()
		a := d.approval("Ship", "")
		d.do(notice.Job{Matter: new(notice.Asked(a, 0))})
		for n := range 3 {
			d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("left-%d", n), 1))})
		}
		d.sendAll()
		d.Clock.Advance(time.Hour)
		d.post.fails = []error{errors.New("451")}
		_, err := d.once(notice.Job{Notice: d.named("approval-requested").ID})
		errtest.Must(t, err)
		d.end(a, approval.Rejected, timeline.Reference{})
		d.later()
		wantSent(t, d.notices(), "full", "left")
		if got := d.named("approval-requested"); got.State != notice.Omitted {
			t.Errorf("the decided approval is %s, want omitted", got.State)
		}
	})
	t.Run("in a message to Slack", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		d.prefer("ada", func(p *notice.Preferences) { p.Channels.Alert = []notice.Channel{notice.Slack} })
		d.fill()
		first := d.alert("aside", 1)
		first.Until = d.Clock.Now().Add(70 * time.Minute)
		d.do(notice.Job{Matter: &first})
		for n := range 3 {
			d.Clock.Advance(time.Second)
			d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("left-%d", n), 1))})
		}
		d.sendAll()
		d.Clock.Advance(time.Hour)
		fake.Next(slacktest.Answer{Status: 503})
		d.sendAll()
		d.Clock.Advance(30 * time.Minute)
		for range 5 {
			d.Clock.Advance(time.Second)
			d.sendAll()
		}
		wantSent(t, d.notices(), "full", "left")
	})
}

// named returns the one notice of a name.
func (d *desk) named(name string) notice.Stored {
	d.T.Helper()
	all := d.notices()
	at := slices.IndexFunc(all, func(n notice.Stored) bool { return n.Name == name })
	if at < 0 {
		d.T.Fatalf("no notice is %q", name)
	}
	return all[at]
}

// wantSent checks that the notices whose matters begin with a word were sent.
func wantSent(t *testing.T, all []notice.Stored, words ...string) {
	t.Helper()
	for _, n := range all {
		for _, word := range words {
			if len(n.About) > len(word) && n.About[:len(word)] == word && n.State != notice.Sent {
				t.Errorf("the notice of %s is %s (%s), want sent", n.About, n.State, n.Reason)
			}
		}
	}
}

// A mail counts once, and only what the host took fills the hour.
func TestBox_Counts(t *testing.T) {
	t.Parallel()
	t.Run("the hour of a person who got nothing", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		for range notice.PerHour {
			d.post.fails = append(d.post.fails, errors.New("451"))
		}
		d.fill()
		d.tell(d.alert("webhook", 1))
		d.want("ada: webhook stopped")
	})
	t.Run("the hour of a mail whose worker was lost", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		for n := range notice.PerHour {
			d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("webhook-%02d", n), 1))})
		}
		all := d.notices()
		for _, n := range all[1:] {
			d.do(notice.Job{Notice: n.ID})
		}
		whole, broken := d.notifier, *d.notifier
		broken.Store = unsaved{d.Store, func(ops []store.Op) bool { return len(ops) == 1 }}
		d.notifier = &broken
		if _, err := d.once(notice.Job{Notice: all[0].ID}); err == nil {
			t.Fatal("a worker whose write fails reports no error")
		}
		d.notifier = whole
		d.Clock.Advance(notice.ClaimTime)
		d.sendAll()
		if got := d.notices()[0]; got.State != notice.Sent {
			t.Errorf("the notice is %s (%s), want sent when the claim has ended", got.State, got.Reason)
		}
	})
	t.Run("the month of an outage", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		for range 5 {
			d.post.fails = append(d.post.fails, errors.New("451"))
		}
		used := notice.Count{Mails: notice.Monthly("pro") - 1}
		errtest.Must(t, d.company.Commit(t.Context(), used.Save(d.company, 0, d.Clock.Now())))
		d.do(notice.Job{Matter: new(d.alert("webhook", 1))})
		d.do(notice.Job{Notice: d.notices()[0].ID})
		d.want("ada: webhook stopped")
		d.tell(d.alert("other", 1))
		d.states("endpoint-disabled ada sent ", "endpoint-disabled ada omitted the company has used up the mails of the month")
	})
}

// A box that is full forgets the oldest matter, and no other one.
func TestBox_Full(t *testing.T) {
	t.Parallel()
	d := setup(t)
	const matters = 301
	for n := range matters {
		d.Clock.Advance(time.Second)
		d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("webhook-%03d", n), 1))})
	}
	for n := range matters {
		d.Clock.Advance(time.Second)
		d.do(notice.Job{Matter: new(d.alert(fmt.Sprintf("webhook-%03d", matters-1-n), 1))})
	}
	if got := len(d.notices()); got != matters+1 {
		t.Errorf("notices = %d, want %d: each matter once, and the oldest again", got, matters+1)
	}
}

// TestBox_Incarnations tells of an endpoint what it was told of another endpoint that was deleted before under the same name.
func TestBox_Incarnations(t *testing.T) {
	t.Parallel()
	d := setup(t)
	for _, incarnation := range []string{"first", "second"} {
		was := integration.Integration{Provider: "webhook", Incarnation: incarnation, Enabled: true, State: integration.Certified}
		is := was
		is.Disable(integration.DisabledGone, d.Clock.Now())
		paused := map[string]any{"endpoint": "webhook", "incarnation": incarnation}
		for _, change := range []store.Change{
			{Entity: integration.Entity, Old: image(t, was), New: image(t, is)},
			{Entity: integration.Entity, Old: image(t, was), New: image(t, was.Sandboxed(integration.SandboxedByExpiry, d.Clock.Now()))},
			{Entity: delivery.Entity, New: image(t, paused)},
		} {
			d.Clock.Advance(time.Minute)
			change.Company, change.At = "acme", d.Clock.Now()
			all, err := notice.Due(change)
			if change.Entity == delivery.Entity {
				all, err = notice.Turned(change, delivery.Turn{Paused: true, Since: d.Clock.Now()})
			}
			errtest.Must(t, err)
			for _, m := range all {
				var j notice.Job
				errtest.Must(t, json.Unmarshal(m.Body, &j))
				d.do(j)
			}
			d.sendAll()
		}
	}
	each := []string{"ada: webhook was disabled", "ada: webhook: the certification has expired", pauses1}
	d.want(append(each, each...)...)
}

func image(t *testing.T, body any) *store.Image {
	t.Helper()
	raw, err := json.Marshal(body)
	errtest.Must(t, err)
	return &store.Image{Body: raw}
}
