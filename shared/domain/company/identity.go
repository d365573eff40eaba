package company

import (
	"context"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Identity describes a user as the company's identity provider has proved it.
type Identity struct {
	Key   string // store.IdentityKey of the company, the issuer and the subject
	Email string
	Name  string
	Role  user.Role // "": the provider gives the user no role
	// Follows reports that the provider decides the role at each sign-in, not only at the first.
	Follows bool
	// Link lets the user take over a user of the company who has the same e-mail address and a password.
	Link bool
}

// SignIn returns the user of an identity, and makes the user at the first sign-in. The identity alone leads to the user: a
// later change of the e-mail address leads to no other user. SignIn returns fault.Forbidden for a user who is disabled, has
// no role or whose e-mail address belongs to another user of the company. A login of the address in another company does not matter.
func SignIn(ctx context.Context, st store.Store, c store.Company, in Identity, now time.Time) (user.User, error) {
	login, err := loginOf(ctx, st, c.ID(), user.User{Identity: in.Key})
	if fault.KindOf(err) == fault.NotFound {
		return firstSignIn(ctx, st, c, in, now)
	}
	if err != nil {
		return user.User{}, err
	}
	u, version, err := GetUser(ctx, c, login.UserID)
	if err != nil {
		return user.User{}, err
	}
	if login.Disabled || u.State != user.Active {
		return u, fault.New(fault.Forbidden, "the user is disabled; ask a founder of the company")
	}
	if !in.Follows || in.Role == u.Role {
		return u, nil
	}
	if in.Role == "" {
		return u, errNoRole()
	}
	u, _, err = ChangeUser(ctx, st, c, u, version, Change{Role: &in.Role}, now)
	return u, err
}

func errNoRole() error {
	return fault.New(fault.Forbidden, "the identity provider gives you no role in this company; ask its administrator")
}

// firstSignIn makes the user of an identity, or links the identity to the user with the same e-mail address.
func firstSignIn(ctx context.Context, st store.Store, c store.Company, in Identity, now time.Time) (user.User, error) {
	if in.Role == "" {
		return user.User{}, errNoRole()
	}
	if user.CheckEmail(in.Email, "") != nil || user.CheckName(in.Name, "", false) != nil {
		return user.User{}, fault.New(fault.Forbidden, "the identity provider gives no usable e-mail address or name")
	}
	login, err := loginOf(ctx, st, c.ID(), user.User{Email: in.Email})
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return addIdentity(ctx, st, c, in, now)
	case err != nil:
		return user.User{}, err
	case !in.Link:
		return user.User{}, fault.New(fault.Forbidden, "a user of the company logs in with this e-mail address and a password; a founder can let single sign-on take such users over")
	}
	return link(ctx, st, c, in, login, now)
}

// addIdentity adds a user who has a login by the identity alone. The e-mail address gets no login, because the provider is
// the company's own and could otherwise take any address from other companies.
func addIdentity(ctx context.Context, st store.Store, c store.Company, in Identity, now time.Time) (user.User, error) {
	u := user.User{ID: id.New(), Email: in.Email, Name: in.Name, Role: in.Role, State: user.Active, Identity: in.Key, CreatedAt: stamp(now)}
	login := user.Login{CompanyID: c.ID(), UserID: u.ID, Role: u.Role}
	ops, err := withCompany(ctx, c, []store.Op{
		u.LoginPartition().Entry(user.LoginKey(c.ID()), user.LoginEntity, 0, login), c.Create(user.Key(u.ID), user.Entity, u),
	}, user.User{}, u)
	if err != nil {
		return user.User{}, err
	}
	return u, store.Fault(st.Commit(ctx, ops...), noUser)
}

// link moves the login of a user from the e-mail address to the identity. The password leads to the company no more, and the tokens end. A founder
// keeps the password, so that the company can still be reached when the provider fails, and so that the provider cannot
// become a founder whom it did not make.
func link(ctx context.Context, st store.Store, c store.Company, in Identity, login Member, now time.Time) (user.User, error) {
	was, version, err := GetUser(ctx, c, login.UserID)
	if err != nil {
		return user.User{}, err
	}
	if was.Role == user.Founder || was.Role == user.Integration || was.State != user.Active {
		return user.User{}, fault.New(fault.Forbidden, "the user with this e-mail address keeps the password: founders, integrations and disabled users are not taken over")
	}
	is := was
	is.Identity = in.Key
	if in.Follows && in.Role != was.Role {
		is.Role, is.Since = in.Role, stamp(now)
	}
	moved := login.Login
	moved.PasswordHash, moved.Person, moved.Role = "", "", is.Role
	moved.Generation++
	end, err := user.EndTokens(ctx, c, is.ID, moved.Generation, now)
	if err != nil {
		return user.User{}, err
	}
	left, err := departure(ctx, st, c, was, login)
	if err != nil {
		return user.User{}, err
	}
	ops := slices.Concat(left, []store.Op{
		c.Replace(user.Key(is.ID), user.Entity, version, is).Quietly(), end,
		is.LoginPartition().Entry(user.LoginKey(c.ID()), user.LoginEntity, 0, moved),
	})
	if ops, err = withCompany(ctx, c, ops, was, is); err != nil {
		return user.User{}, err
	}
	return is, store.Fault(st.Commit(ctx, ops...), noUser)
}
