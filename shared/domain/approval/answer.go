package approval

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// End returns the approval with its final state.
func (a Approval) End(s State, answer Answer) Approval {
	a.State, a.Answer = s, &answer
	return a
}

// Settle returns the writes that end a stored approval of the given version: those of the approval and of its action's mark,
// and the end of an executive's action that was rejected or not decided in time. The caller ends an approved one.
// A rejection stands for the same action until the approval would have expired. After any other end the action may be asked
// for again.
func (a Approval) Settle(ctx context.Context, c store.Company, version int64) ([]store.Op, error) {
	ops, err := a.endAction(ctx, c)
	if err != nil {
		return nil, err
	}
	ops = append(ops, a.replace(c, version))
	m, markVersion, err := FindMark(ctx, c, a.Digest)
	switch {
	case err != nil:
		return nil, err
	case m.ID != a.ID: // it has expired, or belongs to a later approval
		return ops, nil
	case a.State == Rejected:
		return append(ops, a.mark(c, markVersion)), nil
	}
	remove := c.Delete(markPrefix+a.Digest, markEntity, markVersion)
	return append(ops, remove.Quietly()), nil
}

// endAction returns the write that ends the executive's action that waited for an approval which was not given.
func (a Approval) endAction(ctx context.Context, c store.Company) ([]store.Op, error) {
	state, ends := map[State]executive.Progress{Rejected: executive.Rejected, Expired: executive.Expired, Withdrawn: executive.Withdrawn}[a.State]
	if !ends || a.ActionID == "" {
		return nil, nil
	}
	r, version, err := executive.LoadRecord(ctx, c, a.Principal.ID, a.ActionID)
	if fault.KindOf(err) == fault.NotFound { // it was kept for its time
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []store.Op{r.End(state, a.Answer.At).Replace(c, version)}, nil
}

// Expire returns the writes that end an approval that was not decided in time, or none if it has ended or can still be
// decided.
func Expire(ctx context.Context, c store.Company, approvalID string, now time.Time) ([]store.Op, error) {
	var a Approval
	item, err := c.Get(ctx, Key(approvalID), &a)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a.expire(ctx, c, item.Version, now)
}

func (a Approval) expire(ctx context.Context, c store.Company, version int64, now time.Time) ([]store.Op, error) {
	if a.State != Pending || a.IsPending(now) {
		return nil, nil
	}
	return a.End(Expired, Answer{At: now, By: system()}).Settle(ctx, c, version)
}

// Warn returns the writes that mark an approval that still waits as about to expire, and set the timer that ends it. An approval whose
// time is over ends.
func Warn(ctx context.Context, c store.Company, approvalID string, now time.Time) ([]store.Op, error) {
	var a Approval
	item, err := c.Get(ctx, Key(approvalID), &a)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !a.IsPending(now) {
		return a.expire(ctx, c, item.Version, now)
	}
	a.WarnedAt = &now
	return []store.Op{a.replace(c, item.Version), c.Timer(a.ExpiresAt, ExpiryTimer, a.ID)}, nil
}

func system() timeline.Reference { return timeline.Reference{Type: "system", ID: "orgops"} }

// WithdrawAll returns the writes that end the pending approvals that a user asked for, with at most so many writes, the latest
// approvals first.
func WithdrawAll(ctx context.Context, c store.Company, userID string, now time.Time, most int) ([]store.Op, error) {
	var ops []store.Op
	for item, err := range c.Items(ctx, store.Query{Prefix: Prefix, Desc: true}) {
		var a Approval
		if err == nil {
			err = item.Decode(&a)
		}
		if err != nil {
			return nil, err
		}
		if !now.Before(a.ExpiresAt) { // and so are all earlier ones
			break
		}
		if a.State != Pending || a.RequestedBy != (timeline.Reference{Type: user.Entity, ID: userID}) {
			continue
		}
		end, err := a.End(Withdrawn, Answer{At: now.UTC(), By: system()}).Settle(ctx, c, item.Version)
		if err != nil {
			return nil, err
		}
		if len(ops)+len(end) > most {
			break
		}
		ops = append(ops, end...)
	}
	return ops, nil
}
