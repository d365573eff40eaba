package company

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// EndSessions ends all tokens of a user.
func EndSessions(ctx context.Context, st store.Store, companyID string, u user.User, now time.Time) error {
	return changeLogin(ctx, st, companyID, u, now, func(*storedLogin) error { return nil })
}

// ChangePassword stores the hash of a user's new password and ends all tokens of the user. version is that of the login whose
// password was checked. It returns fault.Conflict if the login has changed since: of two changes at once, one wins.
func ChangePassword(ctx context.Context, st store.Store, companyID string, u user.User, version int64, hash string, now time.Time) error {
	return changeLogin(ctx, st, companyID, u, now, func(l *storedLogin) error {
		if l.version != version {
			return fault.New(fault.Conflict, "the password or the user was changed at the same time; log in again and retry")
		}
		l.PasswordHash = hash
		return nil
	})
}

func changeLogin(ctx context.Context, st store.Store, companyID string, u user.User, now time.Time, change func(*storedLogin) error) error {
	login, err := loginOf(ctx, st, companyID, u)
	if err != nil {
		return err
	}
	if err := change(&login); err != nil {
		return err
	}
	ops, err := login.ending(ctx, st, u.LoginPartition(), now)
	if err != nil {
		return err
	}
	return store.Fault(st.Commit(ctx, ops...), noUser)
}
