package approval

import (
	"context"
	"errors"
	"time"

	"orgops/shared/storage/store"
)

// markEntity and markPrefix name the entity of a mark's item and the prefix of its key. A mark leads from the digest of an
// action to the approval that it has.
const (
	markEntity = "approval-mark"
	markPrefix = "APPROVING#"
)

// slack sets how much longer a mark is kept than its approval can be decided, because a store rounds the time of an expiry.
const slack = time.Minute

// Mark names the approval of an exact action, while a further request for the same action needs no other one: until the
// approval is used or expires, and for a rejected one until it would have expired.
type Mark struct {
	ID    string    `json:"id"`
	State State     `json:"state"`
	Until time.Time `json:"until"`
}

// Holds reports whether the mark's approval stands for a further request as of now.
func (m Mark) Holds(now time.Time) bool { return m.ID != "" && now.Before(m.Until) }

// RequestedAt returns when the mark's approval was asked for.
func (m Mark) RequestedAt() time.Time { return m.Until.Add(-Waits) }

// FindMark reads the mark of an action. For an action without one it returns the zero Mark and version 0.
func FindMark(ctx context.Context, c store.Company, digest string) (Mark, int64, error) {
	var m Mark
	item, err := c.Get(ctx, markPrefix+digest, &m)
	if errors.Is(err, store.ErrNotFound) {
		return Mark{}, 0, nil
	}
	return m, item.Version, err
}

// Request returns the writes that store a new approval: the approval, the mark of its action, and the timer of its end. version is that
// of the mark that it replaces, or 0.
func (a Approval) Request(c store.Company, version int64) []store.Op {
	return []store.Op{
		c.Create(Key(a.ID), Entity, a).Until(a.RequestedAt.Add(Kept)),
		a.mark(c, version),
		a.Ending(c),
	}
}

// Restored returns the writes that belong to an approval of another deployment, other than the approval: the mark of its action while it
// stands for a further request, and the timer of the end of a pending one.
func (a Approval) Restored(c store.Company, now time.Time) []store.Op {
	stands := a.State == Pending || a.State == Rejected
	if !stands || !now.Before(a.ExpiresAt) {
		return nil
	}
	if a.State == Rejected {
		return []store.Op{a.mark(c, 0)}
	}
	return []store.Op{a.mark(c, 0), a.Ending(c)}
}

// Ending returns the timer that warns before the approval ends, and sets the timer of its end.
func (a Approval) Ending(c store.Company) store.Op {
	return c.Timer(a.ExpiresAt.Add(-Warns), WarningTimer, a.ID)
}

// mark returns the write of the mark of an approval's action.
func (a Approval) mark(c store.Company, version int64) store.Op {
	m := Mark{ID: a.ID, State: a.State, Until: a.ExpiresAt}
	return c.Save(markPrefix+a.Digest, markEntity, version, m).Until(a.ExpiresAt.Add(slack)).Quietly()
}
