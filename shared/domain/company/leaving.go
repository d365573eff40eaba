package company

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// maxLeaving limits the writes of one commit that withdraw what a user asked for. Acceptance and approval look at the user again, so
// what stays has no effect and expires within a day.
const maxLeaving = 80

// leaving returns the writes that withdraw what a user has begun and others have not ended: the invitations, whose users it also
// returns, and the requests for an approval. A user without the scope to begin any has none.
func leaving(ctx context.Context, c store.Company, u user.User, now time.Time) (ops []store.Op, gone []user.User, err error) {
	if u.State != user.Active || !slices.Contains(u.Role.Scopes(), user.ScopeOperationsWrite) {
		return nil, nil, nil
	}
	for item, err := range c.Items(ctx, store.Query{Prefix: invitationPrefix}) {
		var invites invitation
		if err == nil {
			err = item.Decode(&invites)
		}
		if err != nil {
			return nil, nil, store.Fault(err, "")
		}
		if invites.By != u.ID || len(ops) >= maxLeaving/2 {
			continue
		}
		invited, version, err := GetUser(ctx, c, item.Key[len(invitationPrefix):])
		if fault.KindOf(err) == fault.NotFound { // it expires at this moment
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		gone = append(gone, invited)
		ops = append(ops, c.Delete(user.Key(invited.ID), user.Entity, version).Quietly(), c.Delete(item.Key, invitationEntity, item.Version).Quietly())
	}
	requests, err := approval.WithdrawAll(ctx, c, u.ID, now, maxLeaving-len(ops))
	return append(ops, requests...), gone, store.Fault(err, "")
}

// vouches returns the write by which a user answers for the invitation of u from now on, because the user has changed its role.
func vouches(ctx context.Context, c store.Company, u user.User, by string) ([]store.Op, error) {
	var i invitation
	item, err := c.Get(ctx, invitationKey(u.ID), &i)
	if errors.Is(err, store.ErrNotFound) || err == nil && i.By == by {
		return nil, nil
	}
	if err != nil {
		return nil, store.Fault(err, "")
	}
	i.By = by
	return []store.Op{c.Replace(item.Key, invitationEntity, item.Version, i).Quietly().Until(item.Expires)}, nil
}

// vouched returns the write that fails a commit if the user who invited u has changed. It returns the refusal of an invitation whose
// inviter is no longer a user with all scopes of the role, and has not been one since the invitation.
func (i invitation) vouched(ctx context.Context, c store.Company, u user.User) ([]store.Op, error) {
	if i.By == "" {
		return nil, nil
	}
	inviter, version, err := GetUser(ctx, c, i.By)
	if fault.KindOf(err) == fault.NotFound {
		return nil, errInvitation()
	}
	if err != nil {
		return nil, err
	}
	held := inviter.Role.Scopes()
	if !inviter.Decides(u.CreatedAt) || slices.ContainsFunc(u.Role.Scopes(), func(scope string) bool { return !slices.Contains(held, scope) }) {
		return nil, errInvitation()
	}
	return []store.Op{c.Unchanged(user.Key(i.By), version)}, nil
}
