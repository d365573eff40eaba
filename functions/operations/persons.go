package operations

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// persons holds the users who take part in an approval.
type persons struct {
	asks      user.User  // the zero User if no user of the company asked
	unchanged []store.Op // fail a commit if one of them has changed
}

// decider returns the persons of an approval that the caller may decide. It refuses the person who asked, under any user, and a
// user whose role is newer than the request: one who asks could give it to a second user of their own.
func decider(ctx context.Context, a approval.Approval) (persons, error) {
	c, caller := web.Tenant(ctx), web.CallerOf(ctx)
	decides, version, err := company.GetUser(ctx, c, caller.UserID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return persons{}, err
	}
	out := persons{unchanged: []store.Op{c.Unchanged(user.Key(decides.ID), version)}}
	if a.RequestedBy.Type == user.Entity {
		asks, version, err := company.GetUser(ctx, c, a.RequestedBy.ID)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return persons{}, err
		}
		if a.RequestedBy.ID == caller.UserID || version > 0 && asks.Same(decides) {
			return persons{}, fault.New(fault.Forbidden, "you asked for this action; another person has to decide, or you withdraw it")
		}
		if out.asks = asks; version > 0 {
			out.unchanged = append(out.unchanged, c.Unchanged(user.Key(asks.ID), version))
		}
	}
	if !decides.Decides(a.RequestedAt) {
		return persons{}, fault.New(fault.Forbidden, "your role is newer than this request; a person who had theirs before has to decide, or the action is asked for again")
	}
	return out, nil
}

// approver returns the checks of a commit that carries an action out. Beyond those of decider, the one who asked must still have the
// role that they had.
func approver(ctx context.Context, a approval.Approval) ([]store.Op, error) {
	parts, err := decider(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.RequestedBy.Type == user.Entity && !parts.asks.Decides(a.RequestedAt) {
		return nil, fault.New(fault.Conflict, "the user who asked has left, or has another role since; reject the action, or let it expire")
	}
	return parts.unchanged, nil
}
