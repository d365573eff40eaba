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

// AddUser adds a user with a login. It also returns the password if it generated one. It returns fault.Conflict when the
// e-mail address already has a login in this company.
func AddUser(ctx context.Context, st store.Store, hasher *password.Hasher, companyID string, in NewUser, now time.Time) (user.User, string, error) {
	generated := ""
	if in.Password == "" {
		generated = password.Generate()
		in.Password = generated
	}
	problems := append(checkUser(in.Email, in.Name, "/name", in.Role, in.Password), user.CheckProvider(in.Role, in.Provider, "/provider")...)
	if err := fault.Refuse(problems); err != nil {
		return user.User{}, "", err
	}
	if err := free(ctx, st, companyID, in.Email); err != nil {
		return user.User{}, "", err
	}
	hash, err := hashFor(ctx, st, hasher, in.Email, in.Password)
	if err != nil {
		return user.User{}, "", err
	}
	tenant := store.For(st, companyID)
	u := user.User{ID: id.New(), Email: in.Email, Name: in.Name, Role: in.Role, Provider: in.Provider, State: user.Active, CreatedAt: stamp(now)}
	ops := addUser(tenant, u, hash)
	if u.Role == user.Founder {
		count, err := changeCompany(ctx, tenant, 1, func(*Company) {})
		if err != nil {
			return user.User{}, "", err
		}
		ops = append(ops, count)
	}
	if err := commit(ctx, st, ops); err != nil {
		return user.User{}, "", err
	}
	return u, generated, nil
}

// SetPassword replaces the password of the user who logs in with email, and ends the user's tokens. companyID may be "" if the address
// has a login in one company only. If pass is empty, SetPassword generates a password and returns it.
func SetPassword(ctx context.Context, st store.Store, hasher *password.Hasher, companyID, email, pass string, now time.Time) (Provisioned, error) {
	generated := ""
	if pass == "" {
		generated = password.Generate()
		pass = generated
	}
	if err := fault.Refuse(append(user.CheckEmail(email, "/email"), password.Check(pass, "/password", user.Words(email, "")...)...)); err != nil {
		return Provisioned{}, err
	}
	login, err := only(ctx, st, companyID, email)
	if err != nil {
		return Provisioned{}, err
	}
	if login.PasswordHash, err = hashFor(ctx, st, hasher, email, pass); err != nil {
		return Provisioned{}, err
	}
	ops, err := login.ending(ctx, st, store.Login(email), now)
	if err != nil {
		return Provisioned{}, err
	}
	err = st.Commit(ctx, ops...)
	return Provisioned{CompanyID: login.CompanyID, UserID: login.UserID, Email: email, Password: generated}, store.Fault(err, noUser)
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
func addUser(c store.Company, u user.User, hash string) []store.Op {
	return []store.Op{addLogin(c, u, hash), c.Create(user.Key(u.ID), user.Entity, u)}
}

func addLogin(c store.Company, u user.User, hash string) store.Op {
	login := user.Login{CompanyID: c.ID(), UserID: u.ID, PasswordHash: hash, Role: u.Role, Provider: u.Provider}
	return u.LoginPartition().Entry(user.LoginKey(c.ID()), user.LoginEntity, 0, login)
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
	return append(ops, count), err
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

func checkUser(email, name, namePointer string, role user.Role, pass string) []fault.FieldError {
	problems := user.CheckEmail(email, "/email")
	problems = append(problems, user.CheckName(name, namePointer, false)...)
	problems = append(problems, checkRole(role)...)
	return append(problems, password.Check(pass, "/password", user.Words(email, name)...)...)
}

func checkRole(role user.Role) []fault.FieldError {
	if !role.Valid() {
		return []fault.FieldError{{Pointer: "/role", Detail: "must be founder, member, operator or integration"}}
	}
	return nil
}
