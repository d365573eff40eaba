package auth

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/grant"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Consent says what a third party asks of a person.
type Consent struct {
	ClientName   string           `json:"clientName" doc:"what the third party calls itself; anyone can call itself anything" example:"Agent"`
	ClientHost   string           `json:"clientHost" doc:"whose document describes the third party: this is who asks" example:"agent.example.com"`
	RedirectHost string           `json:"redirectHost" doc:"where the person is led afterwards" example:"127.0.0.1:33418"`
	CompanyID    string           `json:"companyId" format:"uuid" doc:"the company that it would reach"`
	CompanyName  string           `json:"companyName" doc:"the name of that company" example:"Acme"`
	Endpoint     string           `json:"endpoint" enum:"api,mcp" doc:"what its tokens would open"`
	Scopes       []string         `json:"scopes" nullable:"false" doc:"the scopes that the person can give of those it asks for" example:"[\"intelligence:read\"]"`
	Executives   []ConsentingRole `json:"executives" nullable:"false" doc:"the executives as which the person can let it act instead; only a founder can"`
}

// ConsentingRole names an executive as which a third party may act.
type ConsentingRole struct {
	ID    string   `json:"id" doc:"the executive's id" example:"3f0a7c1e-58d2-8a64-9d0b-0c8a1f6e2b47"`
	Name  string   `json:"name" doc:"the executive's name" example:"Chief of Staff"`
	Reads []string `json:"reads" nullable:"false" doc:"the scopes that it declares to read with" example:"[\"intelligence:read\"]"`
}

type consentOutput struct{ Body Consent }

// showConsent says what the caller would allow.
func (d Deps) showConsent(ctx context.Context, in *authorizeInput) (*consentOutput, error) {
	w, err := d.want(ctx, in.AuthorizationRequest)
	if err != nil {
		return nil, plainly(err)
	}
	if err := w.bound(ctx); err != nil {
		return nil, err
	}
	c, _, err := company.Get(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	out := Consent{
		ClientName: w.document.Name, ClientHost: hostOf(w.ClientID), RedirectHost: hostOf(w.Redirect), CompanyID: c.ID, CompanyName: c.Name,
		Endpoint: "api", Scopes: w.given(ctx, nil), Executives: []ConsentingRole{},
	}
	if w.companyID != "" {
		out.Endpoint = "mcp"
	}
	if !web.CallerOf(ctx).Has(user.ScopeExecutivesWrite) {
		return &consentOutput{out}, nil
	}
	all, err := executive.List(ctx, web.Tenant(ctx))
	for _, e := range all {
		out.Executives = append(out.Executives, ConsentingRole{e.ID, e.Name, append([]string{}, e.Reads...)})
	}
	return &consentOutput{out}, err
}

// plainly returns an error of want for a person, whom nothing leads back.
func plainly(err error) error {
	if refused := (refusal{}); errors.As(err, &refused) {
		return fault.New(fault.Malformed, refused.detail)
	}
	return err
}

// given returns the scopes that the caller can give of those that are asked for, and of chosen unless it is nil.
func (w wanted) given(ctx context.Context, chosen []string) []string {
	caller := web.CallerOf(ctx)
	return slices.DeleteFunc(slices.Clone(w.scopes), func(s string) bool {
		return s == user.ScopeExecutivesAct || !caller.Has(s) || chosen != nil && !slices.Contains(chosen, s)
	})
}

// ConsentRequest says what a person decided about a third party's request.
type ConsentRequest struct {
	AuthorizationRequest
	Allow     bool     `json:"allow" doc:"false: the person refuses"`
	Scopes    []string `json:"scopes,omitempty" nullable:"false" maxItems:"20" doc:"the scopes that the person gives, of those that were shown; absent with an executive" example:"[\"intelligence:read\"]"`
	Executive string   `json:"executive,omitempty" maxLength:"64" doc:"the executive as which the third party acts; absent: it acts for the person" example:"3f0a7c1e-58d2-8a64-9d0b-0c8a1f6e2b47"`
}

type decideInput struct{ Body ConsentRequest }

// Consented says where the browser goes with the decision.
type Consented struct {
	RedirectTo string `json:"redirectTo" format:"uri" doc:"the third party's redirect_uri with code, state and iss, or with error" example:"http://127.0.0.1:33418/callback?code=grant.0197a0b4&iss=https%3A%2F%2Fapi.example.com&state=af0ifjsldkj"`
}

type decideOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         Consented
}

// decide takes a person's decision. A consent is stored as a code, which the third party exchanges within a minute.
func (d Deps) decide(ctx context.Context, in *decideInput) (*decideOutput, error) {
	w, err := d.want(ctx, in.Body.AuthorizationRequest)
	if err != nil {
		return nil, plainly(err)
	}
	out := &decideOutput{CacheControl: "no-store"}
	if !in.Body.Allow {
		out.Body.RedirectTo = d.back(w, url.Values{"error": {"access_denied"}, "error_description": {"the person did not allow it"}})
		return out, nil
	}
	if err := w.bound(ctx); err != nil {
		return nil, err
	}
	if err := user.Halted(ctx, web.Tenant(ctx)); err != nil {
		return nil, err
	}
	g, err := d.allowed(ctx, w, in.Body)
	if err != nil {
		return nil, err
	}
	web.Affects(ctx, "operations/grants/"+g.ID)
	c := web.Tenant(ctx)
	code, op := grant.Offer(c, grant.Code{Grant: g, Redirect: w.Redirect, Challenge: w.Challenge, Until: d.Now().UTC().Add(grant.CodeLifetime)})
	if err := c.Commit(ctx, op); err != nil {
		return nil, store.Fault(err, "")
	}
	out.Body.RedirectTo = d.back(w, url.Values{"code": {code}})
	return out, nil
}

// allowed returns the grant that a person allows.
func (d Deps) allowed(ctx context.Context, w wanted, in ConsentRequest) (grant.Grant, error) {
	strong, err := d.vouched(ctx)
	if err != nil {
		return grant.Grant{}, err
	}
	caller, now := web.CallerOf(ctx), d.Now().UTC()
	login, err := d.holder(ctx, web.Tenant(ctx), caller.UserID)
	if err != nil {
		return grant.Grant{}, err
	}
	if err := d.goesOn(ctx, caller.Company, ownSession(ctx)); err != nil {
		return grant.Grant{}, err
	}
	g := grant.Grant{ID: id.New(), Generation: login.Generation, Client: w.document.client(), UserID: caller.UserID, Provider: caller.Provider, Strong: strong, CreatedAt: now}
	if w.companyID != "" {
		g.Resource = token.MCPResource(d.Issuers[0], w.companyID)
	}
	if in.Executive == "" {
		if g.Scopes = w.given(ctx, append([]string{}, in.Scopes...)); len(g.Scopes) == 0 {
			return g, fault.Refuse([]fault.FieldError{{Pointer: "/scopes", Detail: "needs at least one of the scopes that were shown"}})
		}
		return g, nil
	}
	if !caller.Has(user.ScopeExecutivesWrite) {
		return g, fault.New(fault.Forbidden, "only a founder lets a third party act as an executive")
	}
	e, err := executive.Load(ctx, web.Tenant(ctx), in.Executive)
	if fault.KindOf(err) == fault.NotFound {
		return g, fault.Refuse([]fault.FieldError{{Pointer: "/executive", Detail: "is no executive of the company"}})
	}
	g.Executive, g.Since = in.Executive, e.CreatedAt
	return g, err
}
