package company

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// storedLogin holds a login with the key and the version of its item.
type storedLogin struct {
	user.Login
	key     string
	version int64
}

func decodeLogin(item store.Item) (storedLogin, error) {
	login := storedLogin{key: item.Key, version: item.Version}
	return login, item.Decode(&login.Login)
}

// loginOf returns the login of a company's user. It returns fault.NotFound for a user without one, also if the address or the
// identity has a login of another company.
func loginOf(ctx context.Context, st store.Store, companyID string, u user.User) (storedLogin, error) {
	for _, key := range []string{user.LoginKey(companyID), user.FormerLoginKey} {
		item, err := st.Get(ctx, u.LoginPartition(), key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return storedLogin{}, store.Fault(err, "")
		}
		if login, err := decodeLogin(item); err != nil || login.CompanyID == companyID {
			return login, err
		}
	}
	return storedLogin{}, fault.New(fault.NotFound, noUser)
}

// LoginOf returns the login of a company's user. It returns fault.NotFound for a user without one.
func LoginOf(ctx context.Context, st store.Store, companyID string, u user.User) (user.Login, error) {
	login, err := loginOf(ctx, st, companyID, u)
	return login.Login, err
}

// logins returns the logins of an e-mail address in all companies.
func logins(ctx context.Context, st store.Store, email string) ([]storedLogin, error) {
	var all []storedLogin
	for item, err := range store.Items(ctx, st, store.Login(email), store.Query{Prefix: user.FormerLoginKey}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		login, err := decodeLogin(item)
		if err != nil {
			return nil, err
		}
		all = append(all, login)
	}
	return all, nil
}

// only returns the login of an e-mail address in a company, or in the only company of the address.
func only(ctx context.Context, st store.Store, companyID, email string) (storedLogin, error) {
	all, err := logins(ctx, st, email)
	switch {
	case err != nil:
		return storedLogin{}, err
	case companyID != "":
		return loginOf(ctx, st, companyID, user.User{Email: email})
	case len(all) > 1:
		return storedLogin{}, fault.New(fault.Conflict, "the e-mail address has a login in several companies; name the company")
	case len(all) == 0:
		return storedLogin{}, fault.New(fault.NotFound, noUser)
	}
	return all[0], nil
}

// free returns fault.Conflict if an e-mail address has a login in a company.
func free(ctx context.Context, st store.Store, companyID, email string) error {
	_, err := loginOf(ctx, st, companyID, user.User{Email: email})
	switch {
	case err == nil:
		return fault.New(fault.Conflict, "a user of this company has this e-mail address already")
	case fault.KindOf(err) == fault.NotFound:
		return nil
	}
	return err
}

// hashFor hashes a new password of an e-mail address with the salt that the address has in other companies. So a login derives one
// key, in however many companies the address has a login, and takes the same time.
func hashFor(ctx context.Context, st store.Store, hasher *password.Hasher, email, pass string) (string, error) {
	all, err := logins(ctx, st, email)
	if err != nil {
		return "", err
	}
	like := ""
	for _, login := range all {
		if login.PasswordHash != "" && !password.NeedsRehash(login.PasswordHash) {
			like = login.PasswordHash
		}
	}
	return hasher.HashLike(ctx, pass, like)
}

// Founded returns the company of a name whose first founder logs in with email, and that founder. It returns
// fault.NotFound if the address founded no company of this name.
func Founded(ctx context.Context, st store.Store, name, email string) (Company, user.User, error) {
	all, err := logins(ctx, st, email)
	if err != nil {
		return Company{}, user.User{}, err
	}
	for _, login := range all {
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
	return Company{}, user.User{}, fault.New(fault.NotFound, "there is no such company")
}
