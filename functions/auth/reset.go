package auth

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/company"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// registerReset adds the operations by which a person replaces a lost password.
func (d Deps) registerReset(api huma.API) {
	web.Register(api, web.Unaudited(web.Public(huma.Operation{
		OperationID: "ask-reset", Method: http.MethodPost, Path: "/auth/reset", Tags: []string{"auth"},
		Summary:     "Ask for a reset of the password",
		Description: "A known e-mail address and an unknown one get the same answer, after the same work. The operator of the service prints the code, with orgops admin user reset. Counts as a try to log in.",
		Errors:      []int{http.StatusTooManyRequests}, MaxBodyBytes: maxLogin, DefaultStatus: http.StatusAccepted,
	}), "a record would tell whether the address is known; the reset itself is recorded"), d.askReset)
	web.Register(api, web.Audited(web.Public(huma.Operation{
		OperationID: "reset-password", Method: http.MethodPost, Path: "/auth/reset/{code}", Tags: []string{"auth"},
		Summary:     "Set a new password with a code",
		Description: "A code counts once, within 30 minutes. All tokens of the person end within five seconds, in every company. The code proves the e-mail address: all its logins have the new password. A second factor stays, and the next login needs it. A password that is refused does not use the code up. A try counts as one of the network's 100 a minute, as a login does.",
		Errors:      []int{http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	})), d.resetPassword)
}

// ResetRequest names the address whose password is lost.
type ResetRequest struct {
	Email string `json:"email" doc:"the e-mail address of the login" maxLength:"320" example:"ada@example.com"`
}

// askReset notes that a reset was asked for. The code is made when it is delivered, so that a request takes the same work for every address.
func (d Deps) askReset(ctx context.Context, in *struct{ Body ResetRequest }) (*struct{}, error) {
	found, err := d.countTry(ctx, store.Login(in.Body.Email))
	if err != nil {
		return nil, err
	}
	return nil, ignoreConflict(d.Store.Commit(ctx, found.reset.Ask(in.Body.Email, found.resetAt, d.Now())))
}

// NewPassword holds the password that a reset sets.
type NewPassword struct {
	Password string `json:"password" doc:"the new password, of 8 to 128 characters" maxLength:"1024" format:"password" example:"nine quiet otters read maps"`
}

// PasswordReset answers a reset.
type PasswordReset struct {
	Companies int `json:"companies" doc:"how many companies the new password leads to" format:"int32" example:"2"`
}

type resetOutput struct{ Body PasswordReset }

func (d Deps) resetPassword(ctx context.Context, in *struct {
	Code string `path:"code" maxLength:"64" doc:"the code that the person received"`
	Body NewPassword
}) (*resetOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	reset, err := company.OpenReset(ctx, d.Store, in.Code, d.Now())
	if err != nil {
		return nil, err
	}
	d.identify(ctx, reset.Accounts[0].Members[0].Login, "")
	if err := reset.Set(ctx, web.Recorded(ctx, d.Store), d.Hasher, in.Body.Password, d.Now()); err != nil {
		return nil, err
	}
	out := PasswordReset{}
	for _, account := range reset.Accounts {
		out.Companies += len(account.Open())
	}
	return &resetOutput{out}, nil
}
