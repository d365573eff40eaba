package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/identity/token"
	"orgops/shared/identity/usagekey"
)

// admit guards a company's operations. It reads only the path, the Authorization header and, through Options.Ended, whether
// the token was ended, so that the service parses nothing else for a caller without rights. The order is fixed: 401, then 403 for the company, for the network, for a scope, for the provider.
//
// A foreign company, an unknown one and an invalid id get the same answer, so that no caller learns which ids exist.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, req *request, rights rights) error {
	company := pathParam(r, "companyId")
	if rights.mcp != nil {
		if err := s.fromHere(r); err != nil {
			return err
		}
	}
	claims, suspended, err := s.accept(r, req, rights)
	if fault.KindOf(err) == fault.Unauthenticated {
		code := "invalid_token"
		if _, sent := bearer(r.Header); !sent {
			code = "" // RFC 6750 §3.1
		}
		w.Header().Set("WWW-Authenticate", rights.challenge(company, code, nil))
		// The same text for a missing and an invalid token, because an API gateway in front has one text for both.
		return fault.Wrap(fault.Unauthenticated, "send Authorization: Bearer with a good access token from POST /auth/login", err)
	}
	if err != nil {
		return err
	}
	if rights.own {
		company = claims.Company
	}
	if !id.Valid(company) || company != claims.Company {
		return fault.New(fault.Forbidden, "this company does not exist, or is not the one of the token")
	}
	caller := callerOf(claims)
	if !req.within(claims.Networks) {
		return fault.New(fault.Forbidden, "the token may not be used from this network; use it from one of its client's networks")
	}
	if err := rights.check(caller); err != nil {
		if fault.KindOf(err) == fault.InsufficientScope {
			w.Header().Set("WWW-Authenticate", rights.challenge(company, "insufficient_scope", rights.scopes[0]))
		}
		return err
	}
	if !rights.bound && !rights.own { // then the handler keeps to the caller's provider
		if err := caller.reach(pathParam(r, "provider")); err != nil {
			return err
		}
	}
	if _, called := calling(r.Context()); !called {
		if err := s.withinPlan(w, claims); err != nil {
			return err
		}
	}
	if suspended && !rights.own && rights.mcp == nil && !reads(r) { // a user may still end a session or replace a password
		return Suspended()
	}
	req.caller, req.claims, req.tenant = caller, claims, s.opts.Tenant(company)
	return nil
}

// verify returns the claims of the request's token, which must be for this operation.
func (s *Server) verify(r *http.Request, rights rights) (token.Claims, error) {
	text, sent := bearer(r.Header)
	if !sent {
		return token.Claims{}, fault.New(fault.Unauthenticated, "there is no token")
	}
	resources := rights.resources(pathParam(r, "companyId"))
	claims, err := s.opts.Verifier.Verify(text, resources...)
	if err == nil && len(resources) > 0 && claims.Resource == "" {
		err = fault.New(fault.Unauthenticated, "the token is for the API")
	}
	return claims, err
}

// withinPlan refuses a request beyond the limits of the company's plan, as the gateway does, or beyond those of the agent that sends it.
func (s *Server) withinPlan(w http.ResponseWriter, claims token.Claims) error {
	if s.opts.Plan == nil {
		return nil
	}
	agent := cmp.Or(claims.Executive, claims.Client)
	limit, wait := s.opts.Plan(claims.Company, claims.Plan, agent)
	if wait == 0 {
		return nil
	}
	policy := usagekey.Policy(claims.Plan)
	if agent != "" {
		policy = usagekey.AgentPolicy(claims.Plan)
	}
	w.Header().Set("RateLimit", `"`+limit+`";r=0;t=`+strconv.Itoa(int(wait.Seconds())))
	w.Header().Set("RateLimit-Policy", policy)
	detail := map[string]string{
		"second": "too many requests per second; try again later", "day": "the plan's daily quota of requests is used up; try again later or change the plan",
		"agent-second": "this agent sends too many requests per second; try again later",
		"agent-day":    "this agent has used up its daily half of the plan's requests; try again tomorrow (UTC)",
	}[limit]
	return &fault.Error{Kind: fault.QuotaExceeded, Detail: detail, RetryAfter: wait}
}

// reads reports whether a request can only read.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// Suspended returns the refusal of a write of a suspended company.
func Suspended() error {
	return fault.New(fault.Suspended, "the company is suspended: reads go on, and writes are refused; ask the operator of the service")
}

// accept returns the claims of a token that is valid, for this operation, and was not ended before it expires. An operation that asks
// for another one passes its claims on: see Call. suspended reports that the company is suspended.
func (s *Server) accept(r *http.Request, req *request, rights rights) (claims token.Claims, suspended bool, err error) {
	claims, called := calling(r.Context())
	if !called {
		if claims, err = s.verify(r, rights); err != nil {
			return claims, false, err
		}
	}
	req.trail.identify(s.opts.Tenant(claims.Company), callerOf(claims))
	if s.opts.Ended != nil {
		suspended, err = s.opts.Ended(r.Context(), s.opts.Tenant(claims.Company), claims)
	}
	return claims, suspended, err
}

func callerOf(claims token.Claims) Caller {
	return Caller{
		UserID: claims.Subject, Company: claims.Company, Plan: claims.Plan, Provider: claims.Provider,
		Role: claims.Role, Scopes: claims.Scopes, Narrowed: claims.Narrowed, TokenID: claims.ID, AuthTime: claims.AuthTime, Methods: claims.Methods, Expires: claims.Expires, Generation: claims.Generation, Client: claims.Client, Executive: claims.Executive,
	}
}

// bearer returns the token of the Authorization header (RFC 6750 §2.1). It does not read a token in the body or the query,
// the other two places of the RFC. sent is false if the header is missing or has another scheme.
func bearer(h http.Header) (text string, sent bool) {
	values := h["Authorization"]
	if len(values) == 0 {
		return "", false
	}
	word, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(word, "Bearer") {
		return "", false
	}
	if len(values) > 1 {
		return "", true // with two tokens, neither is valid
	}
	return strings.TrimLeft(rest, " "), true
}

// pathParam returns a path parameter, decoded once. If the path has an escape that decoding would lose, chi routes on the
// raw path, and its parameters are not decoded.
func pathParam(r *http.Request, name string) string {
	v := r.PathValue(name)
	if r.URL.RawPath == "" {
		return v
	}
	decoded, err := url.PathUnescape(v)
	if err != nil {
		return ""
	}
	return decoded
}
