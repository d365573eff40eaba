package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/id"
	"orgops/shared/base/metric"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// registerReset adds the operations by which a person replaces a lost password.
func (d Deps) registerReset(api huma.API) {
	web.Register(api, web.Unaudited(web.Public(huma.Operation{
		OperationID: "ask-reset", Method: http.MethodPost, Path: "/auth/reset", Tags: []string{"auth"},
		Summary:     "Ask for a reset of the password",
		Description: "A known e-mail address and an unknown one get the same answer, after the same work. A mail brings the code, if the service has mail settings; the operator of the service can print one too, with orgops admin user reset. An address has three resets an hour, a network 20. Counts as a try to log in.",
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

// askReset notes that a reset was asked for, with the notice that brings the code. The code is made when it is delivered. An address
// without a person gets a notice too, which reaches no one, so that a request takes the same work for every address.
func (d Deps) askReset(ctx context.Context, in *struct{ Body ResetRequest }) (*struct{}, error) {
	p := store.Login(in.Body.Email)
	found, err := d.countTry(ctx, p)
	for range resetRounds {
		if err == nil {
			err = d.noteReset(ctx, p, found)
		}
		if !errors.Is(err, store.ErrConflict) {
			return nil, store.Fault(err, "")
		}
		found, err = d.read(ctx, p)
	}
	return nil, d.tooManyResets("reset", company.MaxResets, time.Second, "others ask for resets at the same moment; try again")
}

// resetRounds limits how often a reset is noted again after others were noted at the same moment.
const resetRounds = 5

// noteReset notes a reset, or returns fault.QuotaExceeded above a limit of the address or of the network.
func (d Deps) noteReset(ctx context.Context, p store.Partition, found known) error {
	now := d.Now()
	if wait, over := found.reset.Wait(company.MaxResets, now); over {
		return d.tooManyResets("reset", company.MaxResets, wait, "three resets were asked for this e-mail address within an hour; use the code of the last mail, or wait")
	}
	ops := []store.Op{found.reset.Ask(p, found.resetAt, now)}
	if source := web.Source(ctx); source != "" {
		network := store.Network(source)
		others, version, err := company.ResetsOf(ctx, d.Store, network)
		if err != nil {
			return err
		}
		if wait, over := others.Wait(company.MaxResetsOfSource, now); over {
			return d.tooManyResets("reset-source", company.MaxResetsOfSource, wait, "too many resets were asked for from your network; wait and try again")
		}
		ops = append(ops, others.Ask(network, version, now))
	}
	companyID, userID := addressee(found.accounts)
	told := notice.ResetOf(companyID, userID, found.resetAt, now)
	return d.Store.Commit(ctx, append(ops, told.Create(store.For(d.Store, companyID))...)...)
}

// addressee returns the user whose mail brings the code: one of the proven person's, or else of any person of the address.
func addressee(accounts []company.Account) (companyID, userID string) {
	for _, a := range accounts {
		if open := a.Open(); len(open) > 0 {
			return open[0].CompanyID, open[0].UserID
		}
	}
	return notice.Nowhere, id.New()
}

func (d Deps) tooManyResets(name string, most int, wait time.Duration, detail string) error {
	d.Metrics.Count(metric.LoginsLimited, 1)
	return web.TooMany(name, most, company.ResetWindow, wait, detail)
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
	for n, account := range reset.Accounts {
		if n == 0 {
			d.identify(ctx, account.Members[0].Login, "")
			account.Members = account.Members[1:]
		}
		d.concern(ctx, account)
	}
	if err := reset.Set(ctx, web.Recorded(ctx, d.Store), d.Hasher, in.Body.Password, d.Now()); err != nil {
		return nil, err
	}
	out := PasswordReset{}
	for _, account := range reset.Accounts {
		out.Companies += len(account.Open())
	}
	return &resetOutput{out}, nil
}
