package company

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// EndSessions ends all tokens of a person, in every company. A user who signs in through a company's identity provider has tokens of that
// company alone.
func EndSessions(ctx context.Context, st store.Store, companyID string, u user.User, now time.Time) error {
	if u.Identity != "" {
		login, err := loginOf(ctx, st, companyID, u)
		if err != nil {
			return err
		}
		ops, err := login.ending(ctx, st, u.LoginPartition(), now)
		if err != nil {
			return err
		}
		return store.Fault(st.Commit(ctx, ops...), noUser)
	}
	all, err := Accounts(ctx, st, u.Email)
	if err != nil {
		return err
	}
	account, err := AccountOf(all, companyID, u.ID)
	if err != nil {
		return err
	}
	return account.EndSessions(ctx, st, now)
}

// ChangePassword stores the new password of an account whose old one was checked, and ends all tokens of the person. It returns
// fault.Conflict if the account has changed since: of two changes at once, one wins.
func ChangePassword(ctx context.Context, st store.Store, account Account, hash string, now time.Time) error {
	account.PasswordHash = hash
	err := account.EndSessions(ctx, st, now)
	if fault.KindOf(err) == fault.Conflict {
		return fault.Wrap(fault.Conflict, "the password or the user was changed at the same time; log in again and retry", err)
	}
	return err
}

// EndSessions stores the account, and ends all tokens of the person.
func (a Account) EndSessions(ctx context.Context, st store.Store, now time.Time) error {
	ends, err := a.End(ctx, st, now)
	if err != nil {
		return err
	}
	return store.Fault(st.Commit(ctx, append(a.Writes(), ends...)...), noUser)
}
