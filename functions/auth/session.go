package auth

import (
	"context"
	"slices"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
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
	companyID := web.CallerOf(ctx).Company
	own := slices.DeleteFunc(found.logins, func(l login) bool { return l.CompanyID != companyID })
	if len(own) == 0 {
		return nil, errGone()
	}
	right, err := d.right(ctx, in.Body.Current, own)
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
	hash, err := d.Hasher.HashLike(ctx, in.Body.New, own[0].PasswordHash)
	if err != nil {
		return nil, err
	}
	return nil, company.ChangePassword(ctx, web.Recorded(ctx, d.Store), companyID, u, own[0].version, hash, d.Now())
}

func (d Deps) signOut(ctx context.Context, _ *struct{}) (*struct{}, error) {
	u, err := d.caller(ctx)
	if err != nil {
		return nil, err
	}
	return nil, company.EndSessions(ctx, web.Recorded(ctx, d.Store), web.CallerOf(ctx).Company, u, d.Now())
}

// caller returns the user of the token.
func (d Deps) caller(ctx context.Context) (user.User, error) {
	u, _, err := company.GetUser(ctx, web.Tenant(ctx), web.CallerOf(ctx).UserID)
	if fault.KindOf(err) == fault.NotFound {
		return user.User{}, errGone()
	}
	return u, err
}

func errGone() error {
	return fault.New(fault.Unauthenticated, "the token's user was removed")
}
