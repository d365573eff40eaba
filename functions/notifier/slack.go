package notifier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/webhook/slack"
)

// tellSlack stores the notice of a matter for the company's Slack channel, if that takes the kind. works reports whether people who
// read the channel are told there: Slack did not refuse the last message for good.
func (n *Notifier) tellSlack(ctx context.Context, c store.Company, m notice.Matter) (works bool, err error) {
	if m.Kind == notice.Security || m.Only != "" {
		return false, nil
	}
	var to notice.SlackSettings
	if _, err := notice.LoadChannel(ctx, c, notice.Slack, &to); err != nil || !to.Takes(m.Kind) {
		return false, err
	}
	shared, _, err := notice.LoadPreferences(ctx, c, notice.Everyone)
	if err != nil {
		return false, err
	}
	return to.FailedAt.IsZero(), n.keep(ctx, c, m, notice.SlackBox, m.Post(c.ID(), n.due(m, shared)))
}

// spacing is the time between two messages to a channel. Slack takes one a second.
const spacing = time.Second

// posting holds a notice on its way to the company's Slack channel.
type posting struct {
	*sending
	to   notice.SlackSettings
	toAt int64      // version
	sent slack.Sent // the message of the app that Slack has taken
}

// post posts a notice that is due. due tells when to look at it again; zero means never. Slack has no key by which it knows a message
// again. So a message that Slack may have taken is never repeated: its people have the mail, or find it in the console.
func (s *sending) post(ctx context.Context) (due time.Time, err error) {
	p := &posting{sending: s}
	if !s.notice.ClaimedAt.IsZero() {
		if err := s.loadJoined(ctx); err != nil {
			return time.Time{}, err
		}
		s.end(notice.Failed, "its worker was lost; Slack may have taken the message")
		return time.Time{}, s.save(ctx, nil)
	}
	why, err := p.load(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if why != "" {
		return time.Time{}, s.omit(ctx, why)
	}
	if quiet := s.quiet(); quiet.After(s.now) {
		return quiet, s.rest(ctx, quiet)
	}
	if free := s.box.Free(s.now); free.After(s.now) && !p.alone() {
		return free, p.delay(ctx, notice.SlackBox, free, "the channel got ten messages within an hour; the rest comes in one")
	}
	if s.box.NextAt.After(s.now) {
		return s.box.NextAt, nil
	}
	if why, err = s.complete(ctx); err != nil {
		return time.Time{}, err
	}
	if why != "" {
		return time.Time{}, s.omit(ctx, why)
	}
	err = p.claim(ctx)
	if errors.Is(err, store.ErrConflict) { // another message to the channel is under way
		return s.now.Add(spacing), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return p.attempt(ctx)
}

// alone reports whether the notice goes at its time in a message of its own.
func (p *posting) alone() bool { return p.notice.Kind == notice.Approval || p.notice.Alone() }

// load reads what decides about the notice, and says why it is not sent, "" if it is.
func (p *posting) load(ctx context.Context) (why string, err error) {
	if p.toAt, err = notice.LoadChannel(ctx, p.company, notice.Slack, &p.to); err != nil {
		return "", err
	}
	if p.toAt == 0 {
		return "the company's Slack channel was removed", nil
	}
	p.unwanted = func(n notice.Stored) string {
		if p.to.Takes(n.Kind) {
			return ""
		}
		return "the company's Slack channel no longer gets notices of this kind"
	}
	if p.preference, _, err = notice.LoadPreferences(ctx, p.company, notice.Everyone); err != nil {
		return "", err
	}
	if p.box, p.boxAt, err = p.Notifier.box(ctx, p.company, notice.SlackBox); err != nil {
		return "", err
	}
	p.approval, why, err = p.stale(ctx, p.notice)
	return why, err
}

// claim notes that this worker posts the notice, and those that wait with it, and keeps the channel for a second.
func (p *posting) claim(ctx context.Context) error {
	c := p.company
	joined, err := p.join(ctx, p.alone())
	if err != nil {
		return err
	}
	p.notice.Attempts++
	p.notice.ClaimedAt, p.notice.Reason = p.now, ""
	p.tick()
	p.box.NextAt = p.now.Add(spacing)
	ops := []store.Op{p.notice.Replace(c, p.version), p.box.Save(c, notice.SlackBox, p.boxAt)}
	p.version++
	return c.Commit(ctx, append(ops, joined...)...)
}

// attempt posts the message and stores what became of it.
func (p *posting) attempt(ctx context.Context) (due time.Time, err error) {
	subject, content := p.says()
	m, kept := slack.Write(subject, p.notice.Why, content, p.Base, p.company.ID())
	err = p.deliver(ctx, m)
	ctx = context.WithoutCancel(ctx) // what was sent is noted, also when the process ends
	var refused *slack.RefusedError
	var throttled *slack.WaitError
	edit := p.miss
	switch {
	case err == nil:
		edit = nil
		p.end(notice.Sent, "")
		p.notice.SentAt, p.notice.Text = p.Now().UTC(), kept
	case errors.Is(err, slack.ErrUnknown):
		edit = nil
		p.end(notice.Failed, "Slack gave no answer; it may have taken the message")
	case errors.As(err, &refused):
		p.end(notice.Failed, refused.Error())
	case errors.As(err, &throttled):
		p.notice.Attempts-- // it uses up no try
		due = p.again(throttled.For, "Slack takes no messages at the moment; it is tried again")
		edit = func(box *notice.Box) { p.miss(box); box.NextAt = due }
	case p.notice.Attempts >= maxAttempts:
		p.end(notice.Failed, "Slack did not take it, in twelve tries")
	default:
		p.Logger.WarnContext(ctx, "message to Slack not sent; it is tried again", "company", p.company.ID(), "notice", p.notice.ID, "error", err)
		due = p.again(backoff(p.notice.Attempts), "Slack did not take it; it is tried again")
	}
	if saved := p.saveSent(ctx, edit); saved != nil { // first: what is not stored counts as taken by Slack
		return time.Time{}, saved
	}
	if err := p.note(ctx, err == nil, refused); err != nil || p.sent.TS == "" {
		return due, err
	}
	return p.relock(ctx)
}

// deliver posts the message by the app, or by the webhook. An approval by the app has buttons. A vault that opens nothing is a passing
// fault, as one of Slack: nothing was sent.
func (p *posting) deliver(ctx context.Context, m slack.Message) (err error) {
	if !p.to.ByApp() {
		webhook, err := p.Vault.Open(ctx, p.company.ID(), notice.SlackLabel, p.to.Webhook)
		if err != nil {
			return fmt.Errorf("open the address of a Slack channel: %w", err)
		}
		return p.Slack.Post(ctx, string(webhook), m)
	}
	token, err := p.token(ctx, p.company, p.to)
	if err != nil {
		return err
	}
	if p.approval.IsPending(p.now) {
		m = slack.Ask(m, p.Base, p.company.ID(), p.approval)
	}
	p.sent, err = p.Slack.PostMessage(ctx, token, p.to.Channel, m)
	return err
}

// token opens the token of the app.
func (n *Notifier) token(ctx context.Context, c store.Company, s notice.SlackSettings) (string, error) {
	token, err := n.Vault.Open(ctx, c.ID(), vault.LabelFor(notice.SlackTokenLabel, s.App.Team), s.App.Token)
	if err != nil {
		return "", fmt.Errorf("open the token of a Slack app: %w", err)
	}
	return string(token), nil
}

// again has the notice tried later.
func (p *posting) again(after time.Duration, reason string) time.Time {
	p.notice.ClaimedAt, p.notice.Reason, p.notice.DueAt = time.Time{}, reason, p.Now().UTC().Add(after)
	return p.notice.DueAt
}

// note stores whether the channel works, if that has changed. A change of the settings meanwhile overrides it.
func (p *posting) note(ctx context.Context, taken bool, refused *slack.RefusedError) error {
	worked := p.to.FailedAt.IsZero()
	if taken == worked || refused == nil && !taken {
		return nil
	}
	p.to.FailedAt, p.to.Failure = time.Time{}, ""
	if refused != nil {
		p.to.FailedAt, p.to.Failure = p.Now().UTC(), refused.Error()
	}
	err := p.company.Commit(ctx, notice.SaveChannel(p.company, notice.Slack, p.toAt, p.to))
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
