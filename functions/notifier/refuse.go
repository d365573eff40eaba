package notifier

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/mail/sesevent"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// returned notes what SES tells about a mail that came back.
func (n *Notifier) returned(ctx context.Context, body []byte) error {
	r, err := sesevent.Read(body)
	if err != nil {
		return queue.ErrPoison
	}
	c := store.For(n.Store, r.Company)
	switch r.Outcome {
	case sesevent.Bounced:
		return n.refuse(ctx, c, r.UserID, r.Address, user.MailBounced)
	case sesevent.Complained:
		return n.refuse(ctx, c, r.UserID, r.Address, user.MailComplained)
	}
	return nil
}

// refuse notes that no more mails go to an address of a user, except the code of a reset. A repeat changes nothing, and neither does what is known of an address that
// the user no longer has. An administrator who resumes the mails ends it.
func (n *Notifier) refuse(ctx context.Context, c store.Company, userID, address string, with user.MailRefusal) (err error) {
	for range tries {
		u, version, err := company.GetUser(ctx, c, userID)
		if fault.KindOf(err) == fault.NotFound {
			return nil
		}
		if err != nil || u.MailRefusedAt != nil || store.Login(u.Email) != store.Login(address) {
			return err
		}
		now := n.Now().UTC().Truncate(time.Millisecond)
		u.MailRefusedAt, u.MailRefusedWith = &now, with
		op := c.Replace(user.Key(u.ID), user.Entity, version, u).Quietly()
		if u.InvitedUntil != nil {
			op = op.Until(*u.InvitedUntil)
		}
		if err = c.Commit(ctx, op); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}
