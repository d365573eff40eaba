package operations

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerSecondFactor(api huma.API) {
	const path = "/second-factor"
	web.Register(api, operation(http.MethodGet, path, "get-second-factor", "Get whether users need a second factor", "The company decides with put-second-factor.", http.StatusOK, user.ScopeOperationsRead), getSecondFactor)
	put := operation(http.MethodPut, path, "put-second-factor", "Decide whether users need a second factor",
		"Once it is required, a user without one gets a token without scopes, which enrols one: see begin-factor. Tokens that were issued before go on until they end, at most an hour. A third party that got access from a session without a factor must be authorized again. "+
			"Users of the company's identity provider have the factors that the provider asks for, and clients have none. Only a founder decides, who has logged in with a second factor.",
		http.StatusOK, user.ScopeOperationsWrite)
	put.Errors = []int{http.StatusConflict}
	web.Register(api, put, putSecondFactor)
}

// proven reports whether the caller's session would do if the company required a second factor.
func proven(ctx context.Context, c store.Company) (bool, error) {
	caller := web.CallerOf(ctx)
	if token.Strong(caller.Methods) {
		return true, nil
	}
	u, _, err := company.GetUser(ctx, c, caller.UserID)
	return u.Identity != "", err
}

// SecondFactor says whether the users of a company need a second factor.
type SecondFactor struct {
	Required bool `json:"required" doc:"true: a user who logs in without a second factor can only enrol one"`
}

// founds reports whether the caller has all scopes, as a founder.
func founds(ctx context.Context) bool {
	return !slices.ContainsFunc(user.Founder.Scopes(), func(scope string) bool { return !web.CallerOf(ctx).Has(scope) })
}

type secondFactorOutput struct{ Body SecondFactor }

func getSecondFactor(ctx context.Context, _ *struct{}) (*secondFactorOutput, error) {
	c, _, err := company.Get(ctx, web.Tenant(ctx))
	return &secondFactorOutput{SecondFactor{c.SecondFactor}}, err
}

func putSecondFactor(ctx context.Context, in *struct{ Body SecondFactor }) (*secondFactorOutput, error) {
	c := web.Tenant(ctx)
	if !founds(ctx) {
		return nil, fault.New(fault.InsufficientScope, "only a user with all scopes, a founder, decides who needs a second factor")
	}
	strong, err := proven(ctx, c)
	if err != nil {
		return nil, err
	}
	if !strong {
		return nil, fault.New(fault.Conflict, "only a session that has proved a second factor decides who needs one; log in with a second factor of your own first")
	}
	return &secondFactorOutput{in.Body}, company.RequireSecondFactor(ctx, c, in.Body.Required)
}
