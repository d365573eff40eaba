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

// SecondFactor says whether the users of a company need a second factor.
type SecondFactor struct {
	Required bool `json:"required" doc:"true: a user who logs in without a second factor can only enrol one"`
}

type secondFactorOutput struct{ Body SecondFactor }

func getSecondFactor(ctx context.Context, _ *struct{}) (*secondFactorOutput, error) {
	c, _, err := company.Get(ctx, web.Tenant(ctx))
	return &secondFactorOutput{SecondFactor{c.SecondFactor}}, err
}

func putSecondFactor(ctx context.Context, in *struct{ Body SecondFactor }) (*secondFactorOutput, error) {
	caller := web.CallerOf(ctx)
	if slices.ContainsFunc(user.Founder.Scopes(), func(scope string) bool { return !caller.Has(scope) }) {
		return nil, fault.New(fault.InsufficientScope, "only a user with all scopes, a founder, decides who needs a second factor")
	}
	u, _, err := company.GetUser(ctx, web.Tenant(ctx), caller.UserID)
	if err != nil {
		return nil, err
	}
	if u.Identity == "" && !token.Strong(caller.Methods) {
		return nil, fault.New(fault.Conflict, "only a session that has proved a second factor decides who needs one; log in with a second factor of your own first")
	}
	return &secondFactorOutput{in.Body}, company.RequireSecondFactor(ctx, web.Tenant(ctx), in.Body.Required)
}
