package company

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// loginOf returns the login of a company's user. It returns fault.NotFound for a user without one, also if the address or the
// identity has a login of another company.
func loginOf(ctx context.Context, st store.Store, companyID string, u user.User) (Member, error) {
	for _, key := range []string{user.LoginKey(companyID), user.FormerLoginKey} {
		item, err := st.Get(ctx, u.LoginPartition(), key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return Member{}, store.Fault(err, "")
		}
		m := Member{key: item.Key, version: item.Version}
		if err := item.Decode(&m.Login); err != nil || m.CompanyID == companyID {
			return m, err
		}
	}
	return Member{}, fault.New(fault.NotFound, noUser)
}

// LoginOf returns the login of a company's user. It returns fault.NotFound for a user without one.
func LoginOf(ctx context.Context, st store.Store, companyID string, u user.User) (user.Login, error) {
	login, err := loginOf(ctx, st, companyID, u)
	return login.Login, err
}

// Founded returns the company of a name whose first founder logs in with email, and that founder. It returns
// fault.NotFound if the address founded no company of this name.
func Founded(ctx context.Context, st store.Store, name, email string) (Company, user.User, error) {
	all, err := Accounts(ctx, st, email)
	if err != nil {
		return Company{}, user.User{}, err
	}
	for _, account := range all {
		for _, login := range account.Members {
			c := store.For(st, login.CompanyID)
			is, _, err := Get(ctx, c)
			if err == nil && is.Name != name {
				continue
			}
			u, _, missing := GetUser(ctx, c, login.UserID)
			if err := errors.Join(err, missing); err != nil {
				return is, u, err
			}
			if u.Role == user.Founder && u.CreatedAt.Equal(is.CreatedAt) {
				return is, u, nil
			}
		}
	}
	return Company{}, user.User{}, fault.New(fault.NotFound, "there is no such company")
}
