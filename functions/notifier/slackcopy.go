package notifier

import (
	"context"
	"errors"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/slack"
)

// saveSent stores the outcome, and with it where the message of an approval stands, so that it can be changed when the approval ends.
// edit changes the box; nil: it stays.
func (p *posting) saveSent(ctx context.Context, edit func(*notice.Box)) (err error) {
	if p.sent.TS == "" || p.approval.ID == "" {
		return p.save(ctx, edit)
	}
	for range tries {
		all, version, loadErr := notice.LoadSlackCopies(ctx, p.company, p.approval.ID)
		if loadErr != nil {
			return loadErr
		}
		all.Team = p.to.App.Team
		all.Copies = append(all.Copies, notice.SlackCopy{Channel: p.sent.Channel, TS: p.sent.TS})
		err = p.company.Commit(ctx, p.notice.Replace(p.company, p.version), all.Save(p.company, p.approval.ID, version, p.now))
		if !errors.Is(err, store.ErrConflict) { // other messages about the approval change the same list
			return err
		}
	}
	return err
}

// relock locks a message that Slack has taken, if its approval ended while it was on the way: lock had nothing to change then. A job
// that comes again does so too.
func (s *sending) relock(ctx context.Context) (due time.Time, err error) {
	approvalID, ok := strings.CutPrefix(s.notice.About, approval.Entity+":")
	if !ok || s.notice.Channel != notice.Slack || s.notice.State != notice.Sent {
		return time.Time{}, nil
	}
	return s.lock(ctx, s.company, approvalID)
}

// lock shows in each message that asked for an approval how that ended, in place of the buttons. due tells when to go on.
func (n *Notifier) lock(ctx context.Context, c store.Company, approvalID string) (due time.Time, err error) {
	all, version, err := notice.LoadSlackCopies(ctx, c, approvalID)
	if err != nil || !all.Open() {
		return time.Time{}, err
	}
	var a approval.Approval
	if _, err := c.Get(ctx, approval.Key(approvalID), &a); errors.Is(err, store.ErrNotFound) || err == nil && a.State == approval.Pending {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, err
	}
	var to notice.SlackSettings
	if _, err := notice.LoadChannel(ctx, c, notice.Slack, &to); err != nil || to.App == nil || to.App.Team != all.Team {
		return time.Time{}, err
	}
	token, err := n.token(ctx, c, to)
	if err != nil {
		return time.Time{}, err
	}
	by, err := nameOf(ctx, c, a)
	if err != nil {
		return time.Time{}, err
	}
	due, failed := n.change(ctx, token, all.Copies, slack.Ended(a, by, n.Base, c.ID()))
	return due, errors.Join(failed, c.Commit(context.WithoutCancel(ctx), all.Save(c, approvalID, version, n.Now())))
}

// change replaces the messages that are open. due tells when Slack takes the rest.
func (n *Notifier) change(ctx context.Context, token string, copies []notice.SlackCopy, m slack.Message) (due time.Time, failed error) {
	for i := range copies {
		if copies[i].Locked {
			continue
		}
		err := n.Slack.Update(ctx, token, slack.Sent{Channel: copies[i].Channel, TS: copies[i].TS}, m)
		var throttled *slack.WaitError
		switch {
		case err == nil, errors.As(err, new(*slack.RefusedError)): // it was deleted, or the app was removed
			copies[i].Locked = true
		case errors.As(err, &throttled):
			due = n.Now().UTC().Add(throttled.For)
		default:
			failed = err
		}
	}
	return due, failed
}

// nameOf returns the name of the user who ended an approval, "" if no user did.
func nameOf(ctx context.Context, c store.Company, a approval.Approval) (string, error) {
	if a.Answer == nil || a.Answer.By.Type != user.Entity {
		return "", nil
	}
	u, _, err := company.GetUser(ctx, c, a.Answer.By.ID)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return "a user who has left", nil
	case u.Name == "":
		return u.Email, err
	}
	return u.Name, err
}
