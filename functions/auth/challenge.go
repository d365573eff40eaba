package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// registerChallenge adds the operation that ends a login with a second factor.
func (d Deps) registerChallenge(api huma.API) {
	web.Register(api, web.Audited(web.Public(huma.Operation{
		OperationID: "answer-challenge", Method: http.MethodPost, Path: "/auth/challenge", Tags: []string{"auth"},
		Summary: "Log in with a second factor",
		Description: "Ends a login that was answered with a challenge: see POST /auth/login. A challenge counts once, within 5 minutes, and ends with a new password. A code of an authenticator app counts once too, 30 seconds before and after its time; so does a recovery code, and the signature of a passkey, with which a challenge ends in any case. " +
			"After ten wrong codes in an hour, the person's codes are refused for the rest of it. A try counts as one of the network's 100 a minute, as a login does.",
		Errors: []int{http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	})), d.answerChallenge)
}

// ChallengeAnswer holds a challenge and the second factor.
type ChallengeAnswer struct {
	Challenge string `json:"challenge" doc:"the id of the challenge" maxLength:"64" format:"password" example:"5MZ2NXQ4RBL6T3WUK7VYJ2CDPE"`
	Code      string `json:"code,omitempty" doc:"the code that the authenticator app shows, or a recovery code" maxLength:"64" format:"password" example:"287082"`

	Credential map[string]any `json:"credential,omitempty" doc:"in place of the code: what a passkey has signed, as PublicKeyCredential.toJSON gives it" example:"{\"id\":\"AQIDBAUGBwgJCgsMDQ4PEA\",\"rawId\":\"AQIDBAUGBwgJCgsMDQ4PEA\",\"type\":\"public-key\",\"response\":{\"clientDataJSON\":\"e30\",\"authenticatorData\":\"AA\",\"signature\":\"AA\"}}"`
}

// challenge answers a right password of a person with a second factor: no token, and what the factor is sent with.
func (d Deps) challenge(ctx context.Context, account company.Account, login user.Login) error {
	d.identify(ctx, login, "")
	sign, options := d.request(account)
	challenge, op := account.Challenge(login, sign, d.Now())
	challenge.PublicKey = options
	if err := d.Store.Commit(ctx, op); err != nil {
		return store.Fault(err, "")
	}
	return &fault.Error{
		Kind: fault.SecondFactorRequired, Challenge: challenge,
		Detail: "the password is right; send a code of the second factor, or what a passkey signed, with the challenge to POST /auth/challenge",
	}
}

// answerChallenge stores what became of the code before it tells. So of several tries at once all but one conflict, and none tells more
// than the limit allows.
func (d Deps) answerChallenge(ctx context.Context, in *struct{ Body ChallengeAnswer }) (*loginOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	if (in.Body.Code == "") == (in.Body.Credential == nil) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/code", Detail: "send either code or credential"}})
	}
	now := d.Now()
	c, err := company.OpenChallenge(ctx, d.Store, in.Body.Challenge, now)
	if err != nil {
		return nil, err
	}
	d.identify(ctx, c.Login, "")
	method, prove := byCode, company.ByCode(ctx, d.Vault, in.Body.Code, now)
	if in.Body.Credential != nil {
		signed, err := json.Marshal(in.Body.Credential)
		if err != nil {
			return nil, err
		}
		method, prove = byKey, d.signs(c.Passkey, signed, now)
	}
	recovery := len(c.Account.Recovery)
	right, err := c.Account.Prove(prove, in.Body.Code, now)
	var copied copiedError
	if err != nil && !errors.As(err, &copied) {
		return nil, err
	}
	ops := c.Account.Writes()
	switch firm, left := store.For(d.Store, c.Login.CompanyID), len(c.Account.Recovery); {
	case err != nil:
		ops = append(ops, notice.PasskeyCopied(c.Login.UserID, copied.name, now).Create(firm)...)
	case left < recovery:
		ops = append(ops, notice.RecoveryUsed(c.Login.UserID, left, now).Create(firm)...)
	}
	if right || method == byKey {
		ops = append(ops, c.Used)
	}
	if failed := d.Store.Commit(ctx, ops...); failed != nil {
		return nil, store.Fault(failed, "")
	}
	if err != nil {
		return nil, errCopied()
	}
	if !right {
		return nil, errCode(method)
	}
	return d.open(ctx, proof{At: now, Methods: []string{byPassword}}.with(method), c.Login, others(c.Account, c.Login.CompanyID)...)
}

func errCode(method string) error {
	if method == byKey {
		return fault.New(fault.Unauthenticated, "the passkey is not one of the person's, or did not sign this challenge; log in again")
	}
	return fault.New(fault.Unauthenticated, "the code is wrong, was used or has expired; wait for the next one")
}
