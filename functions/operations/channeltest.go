package operations

import (
	"context"
	"errors"
	"html"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/web"
	"orgops/shared/webhook/slack"
)

type channelTestInput struct {
	Channel notice.Channel `path:"channel" enum:"mail,slack" doc:"the channel" example:"slack"`
}

// ChannelTest shows what came of a test message.
type ChannelTest struct {
	State  notice.State `json:"state" enum:"sent,failed" doc:"sent: the mail host or Slack has taken the message"`
	Reason string       `json:"reason,omitempty" doc:"why it was not taken" example:"Slack refused it: 404 no_service"`
	At     time.Time    `json:"at" doc:"when it was sent"`
}

type channelTestOutput struct{ Body ChannelTest }

// testChannel sends a message and tells what the other side said. It waits for nothing and repeats nothing.
func (d Deps) testChannel(ctx context.Context, in *channelTestInput) (*channelTestOutput, error) {
	var to notice.SlackSettings
	version := int64(0)
	if in.Channel == notice.Slack {
		var err error
		if version, err = loadChannel(ctx, notice.Slack, &to); err != nil {
			return nil, err
		}
	}
	if err := d.countTest(ctx, in.Channel); err != nil {
		return nil, err
	}
	out := &channelTestOutput{ChannelTest{State: notice.Sent, At: d.Now().UTC().Truncate(time.Millisecond)}}
	send := func() error { return d.testMail(ctx) }
	if in.Channel == notice.Slack {
		send = func() error { return d.testSlack(ctx, to, version) }
	}
	if err := send(); err != nil {
		why, known := explainTest(err)
		if !known {
			return nil, err
		}
		out.Body.State, out.Body.Reason = notice.Failed, why
	}
	return out, nil
}

// countTest counts a test message, and refuses it beyond the limit.
func (d Deps) countTest(ctx context.Context, ch notice.Channel) error {
	c, now := web.Tenant(ctx), d.Now().UTC()
	var box notice.Box
	item, err := c.Get(ctx, notice.BoxKey(notice.TestBox(ch)), &box)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Fault(err, "")
	}
	if free := box.Free(now); free.After(now) {
		return web.TooMany("channel-test", notice.TestsPerHour, time.Hour, free.Sub(now), "too many test messages; wait and try again")
	}
	box.Sent = append(box.Sent, now)
	return store.Fault(c.Commit(ctx, box.Save(c, notice.TestBox(ch), item.Version)), "")
}

// unsentError says why a test message was not sent.
type unsentError string

func (e unsentError) Error() string { return string(e) }

// explainTest says in plain words why a test message was not taken; known is false for a fault of the service.
func explainTest(err error) (why string, known bool) {
	var unsent unsentError
	var wait *slack.WaitError
	var slackRefused *slack.RefusedError
	var mailRefused *mail.RefusedError
	switch {
	case errors.As(err, &wait):
		return "Slack takes no messages at the moment; try again later", true
	case errors.Is(err, slack.ErrUnknown):
		return "Slack gave no answer; it may have taken the message", true
	case errors.As(err, &slackRefused), errors.As(err, &mailRefused), errors.As(err, &unsent):
		return err.Error(), true
	}
	return "", false
}

func testContent() notice.Content {
	return notice.Content{Paragraphs: []string{"This is a test. Notices of your company will come this way."}}
}

const testSubject = "Test message"

// testSlack posts to the channel, and notes whether it works.
func (d Deps) testSlack(ctx context.Context, to notice.SlackSettings, version int64) error {
	c := web.Tenant(ctx)
	if !to.Posts() {
		return unsentError("choose a channel for the app first")
	}
	m, _ := slack.Write(testSubject, "A user of the company asked for it.", testContent(), d.Base, c.ID())
	label, sealed := notice.SlackLabel, to.Webhook
	if to.ByApp() {
		label, sealed = vault.LabelFor(notice.SlackTokenLabel, to.App.Team), to.App.Token
	}
	secret, err := d.Vault.Open(ctx, c.ID(), label, sealed)
	if err != nil {
		return err
	}
	if to.ByApp() {
		_, err = d.Slack.PostMessage(ctx, string(secret), to.Channel, m)
	} else {
		err = d.Slack.Post(ctx, string(secret), m)
	}
	var refused *slack.RefusedError
	if failed := errors.As(err, &refused); failed || err == nil && !to.FailedAt.IsZero() {
		to.FailedAt, to.Failure = time.Time{}, ""
		if failed {
			to.FailedAt, to.Failure = d.Now().UTC().Truncate(time.Millisecond), refused.Error()
		}
		if saved := c.Commit(ctx, notice.SaveChannel(c, notice.Slack, version, to)); saved != nil && !errors.Is(saved, store.ErrConflict) {
			return store.Fault(saved, "")
		}
	}
	if err != nil && refused == nil && !errors.Is(err, slack.ErrUnknown) && !errors.As(err, new(*slack.WaitError)) {
		return unsentError("Slack could not be reached: " + err.Error())
	}
	return err
}

// testMail sends a mail to the caller.
func (d Deps) testMail(ctx context.Context) error {
	if d.Mail == nil {
		return unsentError("the service has no mail settings")
	}
	c := web.Tenant(ctx)
	var s notice.MailSettings
	if _, err := notice.LoadChannel(ctx, c, notice.Mail, &s); err != nil {
		return store.Fault(err, "")
	}
	u, _, err := company.GetUser(ctx, c, web.CallerOf(ctx).UserID)
	if err != nil {
		return err
	}
	if u.MailRefusedAt != nil {
		return unsentError("your address refuses mails; an administrator can resume them")
	}
	firm, _, err := company.Get(ctx, c)
	if err != nil {
		return err
	}
	text := testContent().Paragraphs[0]
	err = d.Mail.Send(ctx, mail.Message{
		ID: id.New(), FromName: s.Sender(firm.Name), To: u.Email, ReplyTo: s.ReplyTo, Subject: testSubject, Text: text + "\n", At: d.Now(), Company: c.ID(), UserID: u.ID,
		HTML: `<!doctype html><html lang="en"><meta name="color-scheme" content="light dark"><title>` + testSubject + "</title><p>" + html.EscapeString(text) + "</p></html>",
	})
	if err != nil && !errors.As(err, new(*mail.RefusedError)) {
		return unsentError("the mail host did not take it; try again later")
	}
	return err
}
