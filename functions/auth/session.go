package auth

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// PasswordChange holds the current password and the new one.
type PasswordChange struct {
	Current string `json:"current" doc:"the current password" maxLength:"1024" format:"password" example:"correct horse battery staple"`
	New     string `json:"new" doc:"the new password, of 8 to 128 characters" maxLength:"1024" format:"password" example:"nine quiet otters read maps"`
}

type passwordInput struct{ Body PasswordChange }

// changePassword checks the current password as a login does, and counts the check as a try. So a stolen token does not help
// to guess the password.
func (d Deps) changePassword(ctx context.Context, in *passwordInput) (*struct{}, error) {
	u, err := d.caller(ctx)
	if err != nil {
		return nil, err
	}
	if u.Identity != "" {
		return nil, fault.New(fault.Conflict, "you sign in through your company's identity provider and have no password here; change it there")
	}
	found, err := d.countTry(ctx, store.Login(u.Email))
	if err != nil {
		return nil, err
	}
	account, err := company.AccountOf(found.accounts, web.CallerOf(ctx).Company, u.ID)
	if err != nil {
		return nil, errGone()
	}
	right, err := company.Matching(ctx, d.Hasher, in.Body.Current, []company.Account{account})
	if err != nil {
		return nil, err
	}
	if len(right) == 0 {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/current", Detail: "is not the current password"}})
	}
	problems := password.Check(in.Body.New, "/new", user.Words(u.Email, u.Name)...)
	if in.Body.New == in.Body.Current {
		problems = append(problems, fault.FieldError{Pointer: "/new", Detail: "is the current password; choose another"})
	}
	if err := fault.Refuse(problems); err != nil {
		return nil, err
	}
	hash, err := d.Hasher.HashLike(ctx, in.Body.New, account.PasswordHash)
	if err != nil {
		return nil, err
	}
	d.concern(ctx, account)
	return nil, company.ChangePassword(ctx, web.Recorded(ctx, d.Store), account, hash, d.Now())
}

func (d Deps) signOut(ctx context.Context, _ *struct{}) (*struct{}, error) {
	u, err := d.caller(ctx)
	if err != nil {
		return nil, err
	}
	st, companyID := web.Recorded(ctx, d.Store), web.CallerOf(ctx).Company
	if u.Identity != "" {
		return nil, company.EndSessions(ctx, st, companyID, u, d.Now())
	}
	account, err := d.accountOf(ctx, companyID, u)
	if err != nil {
		return nil, err
	}
	d.concern(ctx, account)
	return nil, account.EndSessions(ctx, st, d.Now())
}

// caller returns the user of the token.
func (d Deps) caller(ctx context.Context) (user.User, error) {
	u, _, err := company.GetUser(ctx, web.Tenant(ctx), web.CallerOf(ctx).UserID)
	if fault.KindOf(err) == fault.NotFound {
		return user.User{}, errGone()
	}
	return u, err
}

// goesOn returns fault.Unauthenticated for a session that was ended. A token is accepted for some seconds after its session, but what is made
// of it, such as a token of another company, would outlive the ending. The caller reads the login before: an ending after that read ends
// what is made of the login too.
func (d Deps) goesOn(ctx context.Context, companyID string, sessions ...user.Session) error {
	for _, s := range sessions {
		if err := s.GoesOn(ctx, store.For(d.Store, companyID)); err != nil {
			return err
		}
	}
	return nil
}

// sessionOf returns the session of a token.
func sessionOf(c token.Claims) user.Session {
	return user.Session{UserID: c.Subject, TokenID: c.ID, Generation: c.Generation}
}

// sessionsOf returns the session of a token and those of the principals that the token depends on.
func sessionsOf(c token.Claims) []user.Session {
	all := []user.Session{sessionOf(c)}
	for principal, generation := range c.Depends {
		all = append(all, user.Session{UserID: principal, TokenID: c.ID, Generation: generation})
	}
	return all
}

// ownSession returns the session of the request.
func ownSession(ctx context.Context) user.Session {
	caller := web.CallerOf(ctx)
	return user.Session{UserID: caller.UserID, TokenID: caller.TokenID, Generation: caller.Generation}
}

func errGone() error {
	return fault.New(fault.Unauthenticated, "the token's user was removed")
}
