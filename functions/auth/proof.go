package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/identity/token"
	"orgops/shared/web"
)

// How a person proved to be one (RFC 8176).
const (
	byPassword = "pwd"
	byCode     = "otp"
	byKey      = "pop"
)

// proof says when and how a person proved to be one, for the tokens that follow.
type proof struct {
	At       time.Time
	Methods  []string
	Until    time.Time // when the session ends that it is taken from; zero: a session begins
	Provider bool      // the company's identity provider proved the person, and asks for the factors that the company wants
	Narrowed bool      // the session that it is taken from was given fewer scopes than the role has, so no token has others than Scopes
	Scopes   []string
}

// proofOf returns the proof that a session was given for, which a token that follows from it passes on.
func proofOf(c token.Claims) proof {
	return proof{At: c.AuthTime, Methods: c.Methods, Until: c.Expires, Narrowed: c.Narrowed, Scopes: c.Scopes}
}

// ownProof returns the proof of the request's session.
func ownProof(ctx context.Context) proof {
	c := web.CallerOf(ctx)
	return proof{At: c.AuthTime, Methods: c.Methods, Until: c.Expires, Narrowed: c.Narrowed, Scopes: c.Scopes}
}

// within returns the scopes that a token for the proof may have, of those of a login.
func (p proof) within(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(scope string) bool { return p.Narrowed && !slices.Contains(p.Scopes, scope) })
}

// strong reports whether the person has proved a second factor.
func (p proof) strong() bool { return p.Provider || token.Strong(p.Methods) }

// with returns the proof with a second factor, which was proved by a method.
func (p proof) with(method string) proof {
	p.Methods = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.Methods), method, token.ByFactors))))
	return p
}

// MaxProofAge is how long after the login a session changes its person's second factors.
const MaxProofAge = 5 * time.Minute

// fresh refuses a session that began too long ago, or without the second factor that the person has, to change second factors (RFC 9470).
func (d Deps) fresh(ctx context.Context, account company.Account) error {
	by := ownProof(ctx)
	var detail string
	switch {
	case d.Now().Sub(by.At) > MaxProofAge:
		detail = "log in again: second factors are changed within 5 minutes after the login"
	case len(account.Factors) > 0 && !by.strong():
		detail = "log in again with your second factor: this session began without it"
	default:
		return nil
	}
	return insufficient(detail, fmt.Sprintf(`, max_age="%d"`, int(MaxProofAge.Seconds())))
}

// vouched refuses a session without the second factor that the person has or the company requires, for what outlives the session. strong
// reports whether the session would do if the company required a factor.
func (d Deps) vouched(ctx context.Context) (strong bool, err error) {
	caller := web.CallerOf(ctx)
	if token.Strong(caller.Methods) {
		return true, nil
	}
	u, err := d.caller(ctx)
	if err != nil || u.Identity != "" {
		return err == nil, err
	}
	c, _, err := company.Get(ctx, web.Tenant(ctx))
	if err != nil {
		return false, err
	}
	account, err := d.accountOf(ctx, caller.Company, u)
	if err != nil || len(account.Factors) == 0 && !c.SecondFactor {
		return false, err
	}
	return false, insufficient("log in again with a second factor: this session began without one", "")
}

// insufficient asks for a login that proves more (RFC 9470).
func insufficient(detail, params string) error {
	return huma.ErrorWithHeaders(fault.New(fault.Unauthenticated, detail), http.Header{
		"Www-Authenticate": {`Bearer error="insufficient_user_authentication"` + params},
	})
}
