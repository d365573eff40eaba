package notifier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// tell stores a notice of a matter for each person whom it concerns, and for the company's Slack channel. A repeat stores nothing more.
func (n *Notifier) tell(ctx context.Context, c store.Company, m notice.Matter) error {
	if !m.Until.IsZero() && !n.Now().Before(m.Until) {
		return nil
	}
	concerned, err := n.concerned(ctx, c, m)
	if err != nil {
		return err
	}
	if len(concerned) == 0 && m.Asks() {
		return n.undecidable(ctx, c, m)
	}
	posted, err := n.tellSlack(ctx, c, m)
	if err != nil {
		return err
	}
	for _, u := range concerned {
		if err := n.tellOne(ctx, c, m, u.ID, posted); err != nil {
			return err
		}
	}
	if m.AsksErasure() {
		return n.tellAsker(ctx, c, m)
	}
	return nil
}

// concerned lists the users of a company whom a matter concerns.
func (n *Notifier) concerned(ctx context.Context, c store.Company, m notice.Matter) (all []user.User, err error) {
	for item, err := range c.Items(ctx, store.Query{Prefix: user.Prefix}) {
		if err != nil {
			return nil, err
		}
		var u user.User
		if err := item.Decode(&u); err != nil {
			return nil, err
		}
		if m.Concerns(u) {
			all = append(all, u)
		}
	}
	return all, nil
}

// undecidable tells the founders that no person may decide on the approval of a matter.
func (n *Notifier) undecidable(ctx context.Context, c store.Company, m notice.Matter) error {
	a, waits, err := n.waiting(ctx, c, m.Approval())
	if err != nil || !waits {
		return err
	}
	return n.tell(ctx, c, notice.Undecidable(a))
}

// tellAsker tells a user that others decide on the erasure that was asked for in the user's name.
func (n *Notifier) tellAsker(ctx context.Context, c store.Company, m notice.Matter) error {
	a, waits, err := n.waiting(ctx, c, m.Approval())
	if err != nil || !waits {
		return err
	}
	return n.tell(ctx, c, notice.OwnErasure(a))
}

// tries limits how often a write is planned again after another worker has changed the person's box.
const tries = 5

// tellOne stores the notice of a matter for one person. posted reports whether the company's Slack channel tells it.
func (n *Notifier) tellOne(ctx context.Context, c store.Company, m notice.Matter, userID string, posted bool) error {
	p, _, err := notice.LoadPreferences(ctx, c, userID)
	if err != nil || !m.Always && !p.Mailed(m.Kind, posted) {
		return err
	}
	return n.keep(ctx, c, m, userID, m.Notice(c.ID(), userID, n.due(m, p)))
}

// due returns when a matter is told at the earliest: quiet hours delay it.
func (n *Notifier) due(m notice.Matter, p notice.Preferences) time.Time {
	if m.Always {
		return n.Now()
	}
	return p.Due(m.Kind, n.Now())
}

// keep stores the notice of a matter for the owner of a box, who has not been told, or not that it is so bad.
func (n *Notifier) keep(ctx context.Context, c store.Company, m notice.Matter, owner string, told notice.Stored) (err error) {
	for range tries {
		box, version, loadErr := n.box(ctx, c, owner)
		if loadErr != nil {
			return loadErr
		}
		due, ok := box.Tell(m, n.Now())
		if !ok && m.Turn == "" {
			return nil
		}
		var ops []store.Op // none: the box notes how the matter stands
		if ok {
			told.DueAt = wait.Later(told.DueAt, due.UTC())
			ops = told.Create(c)
		}
		err = c.Commit(ctx, append(ops, box.Save(c, owner, version))...)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if _, known := c.Get(ctx, notice.Key(told.ID), nil); known == nil {
			return nil // the box has forgotten what its owner was told
		}
	}
	return err
}

// box returns the box of a person or a channel, a new one for version 0.
func (n *Notifier) box(ctx context.Context, c store.Company, owner string) (notice.Box, int64, error) {
	var box notice.Box
	item, err := c.Get(ctx, notice.BoxKey(owner), &box)
	if errors.Is(err, store.ErrNotFound) {
		return notice.Box{}, 0, nil
	}
	return box, item.Version, err
}
