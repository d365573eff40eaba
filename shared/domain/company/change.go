package company

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Change says what to change about a user. A nil field stays as it is.
type Change struct {
	Name     *string
	Role     *user.Role
	Provider *string
	Disabled *bool

	ResumeMails bool // lets mails go to the address again

	By string // the id of the user who changes; "": no user of the company
}

// apply returns the user as changed at now, or what is wrong with the change.
func (c Change) apply(was user.User, now time.Time) (user.User, error) {
	u := was
	if c.Name != nil {
		u.Name = *c.Name
	}
	if c.Role != nil {
		u.Role = *c.Role
		if u.Role != user.Integration && c.Provider == nil {
			u.Provider = ""
		}
	}
	if c.Provider != nil {
		u.Provider = *c.Provider
	}
	if c.ResumeMails {
		u.MailRefusedAt, u.MailRefusedWith = nil, ""
	}
	problems := append(user.CheckName(u.Name, "/name", false), checkRole(u.Role)...)
	if err := fault.Refuse(append(problems, user.CheckProvider(u.Role, u.Provider, "/provider")...)); err != nil {
		return u, err
	}
	switch {
	case c.Disabled == nil:
	case u.State == user.Invited:
		return u, fault.New(fault.Conflict, "the user has not accepted the invitation; delete the user to withdraw it")
	case *c.Disabled:
		u.State = user.Disabled
	default:
		u.State = user.Active
	}
	if differs(was, u) && u.State != user.Invited {
		u.Since = stamp(now)
	}
	return u, nil
}

// differs reports whether a change takes or gives rights.
func differs(was, is user.User) bool {
	return is.Role != was.Role || is.Provider != was.Provider || is.State != was.State
}

// ChangeUser changes a user that was read at version. A new role or provider, and disabling, also end the user's tokens and withdraw
// the user's pending invitations and requests for approvals. It returns the user and the new version. It returns fault.Conflict if the change would leave the company without a founder who
// can log in.
func ChangeUser(ctx context.Context, st store.Store, c store.Company, was user.User, version int64, change Change, now time.Time) (user.User, int64, error) {
	is, err := change.apply(was, now)
	if err != nil || is == was {
		return is, version, err
	}
	op := c.Replace(user.Key(is.ID), user.Entity, version, is)
	if is.InvitedUntil != nil {
		op = op.Until(*is.InvitedUntil)
	}
	ops := []store.Op{op}
	var gone []user.User
	if is.State == user.Invited && differs(was, is) {
		vouches, err := vouches(ctx, c, is, change.By)
		if err != nil {
			return was, 0, err
		}
		ops = append(ops, vouches...)
	}
	if is.State != user.Invited && differs(was, is) {
		login, err := loginOf(ctx, st, c.ID(), was)
		if err != nil {
			return was, 0, err
		}
		login.Role, login.Provider, login.Disabled = is.Role, is.Provider, is.State == user.Disabled
		ending, err := login.ending(ctx, st, was.LoginPartition(), now)
		if err != nil {
			return was, 0, err
		}
		var withdrawn []store.Op
		if withdrawn, gone, err = leaving(ctx, c, was, now); err != nil {
			return was, 0, err
		}
		ops = append(append(ops, ending...), withdrawn...)
	}
	if ops, err = withCompany(ctx, c, ops, was, is, gone...); err != nil {
		return was, 0, err
	}
	if err := st.Commit(ctx, ops...); err != nil {
		return was, 0, store.Fault(err, noUser)
	}
	return is, version + 1, nil
}

// RemoveUser removes a user that was read at version, with the login or the invitation, ends the user's tokens, and withdraws the
// user's pending invitations and requests for approvals. It returns fault.Conflict for the last founder who can log in.
func RemoveUser(ctx context.Context, st store.Store, c store.Company, u user.User, version int64, now time.Time) error {
	ops := []store.Op{c.Delete(user.Key(u.ID), user.Entity, version)}
	more, err := removal(ctx, st, c, u, now)
	if err != nil {
		return err
	}
	withdrawn, gone, err := leaving(ctx, c, u, now)
	if err != nil {
		return err
	}
	if ops, err = withCompany(ctx, c, append(append(ops, more...), withdrawn...), u, user.User{}, gone...); err != nil {
		return err
	}
	return store.Fault(st.Commit(ctx, ops...), noUser)
}

// removal returns the writes that remove what leads to a user: the invitation, or the login and the tokens.
func removal(ctx context.Context, st store.Store, c store.Company, u user.User, now time.Time) ([]store.Op, error) {
	if u.State == user.Invited {
		_, version, err := readInvitation(ctx, c, u.ID)
		if err != nil {
			return nil, err
		}
		return []store.Op{c.Delete(invitationKey(u.ID), invitationEntity, version).Quietly()}, nil
	}
	login, err := loginOf(ctx, st, c.ID(), u)
	if err != nil {
		return nil, err
	}
	ending, err := user.EndTokens(ctx, c, u.ID, login.Generation+1, now)
	if err != nil {
		return nil, err
	}
	left, err := departure(ctx, st, c, u, login)
	return append(left, ending), err
}

// departure returns the writes that remove a user's login. A person leaves the company, and goes with the last one.
func departure(ctx context.Context, st store.Store, c store.Company, u user.User, login Member) ([]store.Op, error) {
	if u.Identity != "" {
		return []store.Op{deletion(u.LoginPartition(), login.key, user.LoginEntity, login.version)}, nil
	}
	all, err := Accounts(ctx, st, u.Email)
	if err != nil {
		return nil, err
	}
	account, err := AccountOf(all, c.ID(), u.ID)
	for i := range account.Members {
		if m := &account.Members[i]; m.key == login.key {
			m.version = login.version // the caller has planned with this one, so a change since then conflicts
		}
	}
	return account.Leave(c.ID()), err
}

// ending returns the writes that store the login and end the tokens that were issued before.
func (l *Member) ending(ctx context.Context, st store.Store, p store.Partition, now time.Time) ([]store.Op, error) {
	l.Generation++
	end, err := user.EndTokens(ctx, store.For(st, l.CompanyID), l.UserID, l.Generation, now)
	return []store.Op{p.Entry(l.key, user.LoginEntity, l.version, l.Login), end}, err
}
