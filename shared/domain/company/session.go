package company

import (
	"context"
	"time"

	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// EndSessions ends all tokens of a user.
func EndSessions(ctx context.Context, st store.Store, u user.User, now time.Time) error {
	return changeLogin(ctx, st, u, now, func(*user.Login) {})
}

// ChangePassword stores the hash of a user's new password and ends all tokens of the user.
func ChangePassword(ctx context.Context, st store.Store, u user.User, hash string, now time.Time) error {
	return changeLogin(ctx, st, u, now, func(l *user.Login) { l.PasswordHash = hash })
}

func changeLogin(ctx context.Context, st store.Store, u user.User, now time.Time, change func(*user.Login)) error {
	login, err := loginOf(ctx, st, u)
	if err != nil {
		return err
	}
	change(&login.Login)
	ops, err := login.ending(ctx, st, u.LoginPartition(), now)
	if err != nil {
		return err
	}
	return store.Fault(st.Commit(ctx, ops...), noUser)
}
