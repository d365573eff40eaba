package notifier_test

import (
	"errors"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/notice"
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
)

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
}
