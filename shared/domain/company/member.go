package company

import (
	"context"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

const noUser = "there is no such user"

// NewUser holds the data of a user to add.
type NewUser struct {
	Email    string
	Name     string
	Role     user.Role
	Provider string // of the role Integration: the only integration that the user reaches
	Password string // "": one is generated
}

// AddUser adds a user with a login, for the operator of the service. It also returns what Provision does: a person whom the
// address is known to have keeps the password. It returns fault.Conflict when the e-mail address already has a login in this company.
func AddUser(ctx context.Context, st store.Store, hasher *password.Hasher, companyID string, in NewUser, now time.Time) (user.User, Provisioned, error) {
	problems := append(checkUser(in.Email, in.Name, "/name", in.Role), user.CheckProvider(in.Role, in.Provider, "/provider")...)
	account, made, err := assigned(ctx, st, hasher, companyID, in, problems)
	if err != nil {
		return user.User{}, Provisioned{}, err
	}
	tenant, known := store.For(st, companyID), account.Stored()
	u := user.User{ID: id.New(), Email: in.Email, Name: in.Name, Role: in.Role, Provider: in.Provider, State: user.Active, CreatedAt: stamp(now)}
	ops, err := addUser(tenant, u, account)
	if err != nil {
		return user.User{}, Provisioned{}, err
	}
	if u.Role == user.Founder {
		count, err := changeCompany(ctx, tenant, 1, func(*Company) {})
		if err != nil {
			return user.User{}, Provisioned{}, err
		}
		ops = append(ops, count)
	}
	if err := commit(ctx, st, ops); err != nil {
		return user.User{}, Provisioned{}, err
	}
	return u, Provisioned{CompanyID: companyID, UserID: u.ID, Email: u.Email, Password: made, Known: known}, nil
}

// SetPassword replaces the password of the person with an e-mail address, for the operator of the service, who so proves the address:
// the password leads to all its logins from then on. All tokens of the person end, and second factors stay. If pass is empty, SetPassword generates a password and returns it.
func SetPassword(ctx context.Context, st store.Store, hasher *password.Hasher, email, pass string, now time.Time) (Provisioned, error) {
	made := ""
	if pass == "" {
		made = password.Generate()
		pass = made
	}
	if err := fault.Refuse(append(user.CheckEmail(email, "/email"), password.Check(pass, "/password", user.Words(email, "")...)...)); err != nil {
		return Provisioned{}, err
	}
	all, err := Accounts(ctx, st, email)
	if err != nil {
		return Provisioned{}, err
	}
	if len(all) == 0 {
		return Provisioned{}, fault.New(fault.NotFound, noUser)
	}
	accounts := Whole(all)
	ops, err := replaced(ctx, st, hasher, pass, accounts, all, now)
	if err != nil {
		return Provisioned{}, err
	}
	first := accounts[0].Members[0]
	return Provisioned{CompanyID: first.CompanyID, UserID: first.UserID, Email: email, Password: made}, store.Fault(st.Commit(ctx, ops...), noUser)
}

// GetUser returns one user and the version of its item.
func GetUser(ctx context.Context, c store.Company, userID string) (user.User, int64, error) {
	if !id.Valid(userID) {
		return user.User{}, 0, fault.New(fault.NotFound, noUser)
	}
	var u user.User
	item, err := c.Get(ctx, user.Key(userID), &u)
	if err != nil {
		return user.User{}, 0, store.Fault(err, noUser)
	}
	return known(u), item.Version, nil
}

// known returns a user with a state. Users that were stored before users had states are active.
func known(u user.User) user.User {
	if u.State == "" {
		u.State = user.Active
	}
	return u
}

// ListUsers returns a page of users, oldest first, that begins after the key after. It also returns the value of after for
// the next page, "" on the last page.
func ListUsers(ctx context.Context, c store.Company, after string, limit int) ([]user.User, string, error) {
	page, err := c.Query(ctx, store.Query{Prefix: user.Prefix, After: after, Limit: limit})
	if err != nil {
		return nil, "", store.Fault(err, noUser)
	}
	users := make([]user.User, len(page.Items))
	for i, item := range page.Items {
		if err := item.Decode(&users[i]); err != nil {
			return nil, "", err
		}
		users[i] = known(users[i])
	}
	return users, page.Next, nil
}

// addUser returns the writes of a user and the login.
func addUser(c store.Company, u user.User, account Account) ([]store.Op, error) {
	if err := account.join(c.ID(), u); err != nil {
		return nil, err
	}
	return append(account.Writes(), c.Create(user.Key(u.ID), user.Entity, u)), nil
}

// withCompany adds the write that counts the founders and lists the awaited operators, if a change to a user changes them. It
// returns fault.Conflict for the last founder. The operators among gone, whose invitations are withdrawn, are no longer awaited.
func withCompany(ctx context.Context, c store.Company, ops []store.Op, was, is user.User, gone ...user.User) ([]store.Op, error) {
	change := 0
	switch {
	case was.Founds() && !is.Founds():
		change = -1
	case is.Founds() && !was.Founds():
		change = 1
	}
	awaited := is.Awaited()
	gone = slices.DeleteFunc(gone, func(u user.User) bool { return !u.Awaited() })
	if was.Awaited() && !awaited {
		gone = append(gone, was)
	}
	if change == 0 && len(gone) == 0 && awaited == was.Awaited() {
		return ops, nil
	}
	count, err := changeCompany(ctx, c, change, func(c *Company) {
		for _, u := range gone {
			c.await(u, false)
		}
		if awaited && !was.Awaited() {
			c.await(is, true)
		}
	})
	if err == nil && change < 0 && was.Identity == "" {
		err = keepsPassword(ctx, c, was) // after the company's version was read, which guards the answer
	}
	return append(ops, count), err
}

// keepsPassword returns fault.Conflict if no other founder logs in with a password than the one who goes. What an identity provider makes
// ends with the provider.
func keepsPassword(ctx context.Context, c store.Company, goes user.User) error {
	for item, err := range c.Items(ctx, store.Query{Prefix: user.Prefix}) {
		var u user.User
		if err == nil {
			err = item.Decode(&u)
		}
		if err != nil {
			return store.Fault(err, "")
		}
		if u = known(u); u.ID != goes.ID && u.Founds() && u.Identity == "" {
			return nil
		}
	}
	return fault.New(fault.Conflict, "a company keeps at least one founder with a password, who can log in when its identity provider fails; make a user with a password a founder first")
}

// changeCompany returns the write of the company's item with a changed number of founders, and with what edit changes.
func changeCompany(ctx context.Context, c store.Company, change int, edit func(*Company)) (store.Op, error) {
	company, version, err := Get(ctx, c)
	if err != nil {
		return store.Op{}, err
	}
	company.Founders += change
	edit(&company)
	if company.Founders < 1 {
		return store.Op{}, fault.New(fault.Conflict, "a company keeps at least one founder; make another user a founder first")
	}
	return c.Replace(Key, Entity, version, company), nil
}

func checkUser(email, name, namePointer string, role user.Role) []fault.FieldError {
	problems := append(user.CheckEmail(email, "/email"), user.CheckName(name, namePointer, false)...)
	return append(problems, checkRole(role)...)
}

func checkRole(role user.Role) []fault.FieldError {
	if !role.Valid() {
		return []fault.FieldError{{Pointer: "/role", Detail: "must be founder, member, operator or integration"}}
	}
	return nil
}
