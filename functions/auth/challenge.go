package auth

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// registerChallenge adds the operation that ends a login with a second factor.
func (d Deps) registerChallenge(api huma.API) {
	web.Register(api, web.Audited(web.Public(huma.Operation{
		OperationID: "answer-challenge", Method: http.MethodPost, Path: "/auth/challenge", Tags: []string{"auth"},
		Summary: "Log in with a second factor",
		Description: "Ends a login that was answered with a challenge: see POST /auth/login. A challenge counts once, within 5 minutes, and ends with a new password. A code of an authenticator app counts once too, 30 seconds before and after its time; so does a recovery code. " +
			"After ten wrong codes in an hour, the person's codes are refused for the rest of it. A try counts as one of the network's 100 a minute, as a login does.",
		Errors: []int{http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	})), d.answerChallenge)
}

// ChallengeAnswer holds a challenge and the second factor.
type ChallengeAnswer struct {
	Challenge string `json:"challenge" doc:"the id of the challenge" maxLength:"64" format:"password" example:"5MZ2NXQ4RBL6T3WUK7VYJ2CDPE"`
	Code      string `json:"code" doc:"the code that the authenticator app shows, or a recovery code" maxLength:"64" format:"password" example:"287082"`
}

// challenge answers a right password of a person with a second factor: no token, and what the factor is sent with.
func (d Deps) challenge(ctx context.Context, account company.Account, login user.Login) error {
	d.identify(ctx, login, "")
	challenge, op := account.Challenge(login, d.Now())
	if err := d.Store.Commit(ctx, op); err != nil {
		return store.Fault(err, "")
	}
	return &fault.Error{
		Kind: fault.SecondFactorRequired, Challenge: challenge,
		Detail: "the password is right; send a code of the second factor with the challenge to POST /auth/challenge",
	}
}

// answerChallenge stores what became of the code before it tells. So of several tries at once all but one conflict, and none tells more
// than the limit allows.
func (d Deps) answerChallenge(ctx context.Context, in *struct{ Body ChallengeAnswer }) (*loginOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	now := d.Now()
	c, err := company.OpenChallenge(ctx, d.Store, in.Body.Challenge, now)
	if err != nil {
		return nil, err
	}
	d.identify(ctx, c.Login, "")
	right, err := c.Account.Prove(ctx, d.Vault, in.Body.Code, now)
	if err != nil {
		return nil, err
	}
	ops := c.Account.Writes()
	if right {
		ops = append(ops, c.Used)
	}
	if err := d.Store.Commit(ctx, ops...); err != nil {
		return nil, store.Fault(err, "")
	}
	if !right {
		return nil, errCode()
	}
	return d.open(ctx, proof{At: now, Methods: []string{byPassword}}.withCode(), c.Login, others(c.Account, c.Login.CompanyID)...)
}

func errCode() error {
	return fault.New(fault.Unauthenticated, "the code is wrong, was used or has expired; wait for the next one")
}
