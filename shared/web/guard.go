package web

import (
	"net/http"
	"net/url"
	"strings"

	"orgops/shared/fault"
	"orgops/shared/id"
)

// admit is the company guard. It looks at the path and the Authorization header only, so that nothing of a request is
// parsed for a caller who has no right to it. The order is fixed: 401, then 403 for the company, then 403 for a scope.
//
// A company that is another's, unknown or no valid id at all gets the same answer: nobody learns which ids exist.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, req *request, scopes []string) error {
	// A gateway in front has one detail for both.
	const detail = "send Authorization: Bearer with a good access token from POST /auth/login"
	text, sent := bearer(r.Header)
	if !sent {
		w.Header().Set("WWW-Authenticate", "Bearer") // RFC 6750 §3.1: no error code where nothing was tried
		return fault.New(fault.Unauthenticated, detail)
	}
	claims, err := s.opts.Verifier.Verify(text)
	if fault.KindOf(err) == fault.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		return fault.Wrap(fault.Unauthenticated, detail, err)
	}
	if err != nil {
		return err
	}
	company := pathParam(r, "id")
	if !id.Valid(company) || company != claims.Company {
		return fault.New(fault.Forbidden, "this company does not exist, or is not the one of the token")
	}
	caller := Caller{UserID: claims.Subject, Company: company, Plan: claims.Plan, Scopes: claims.Scopes, TokenID: claims.ID}
	for _, scope := range scopes {
		if !caller.Has(scope) {
			needed := strings.Join(scopes, " ")
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+needed+`"`)
			return fault.New(fault.InsufficientScope, "the token needs the scope "+needed)
		}
	}
	req.caller, req.tenant = caller, s.opts.Tenant(company)
	return nil
}

// bearer is the token of the Authorization header (RFC 6750 §2.1). The other two ways to send one, in the body and in
// the query, are not read. sent is false when there is no such header or it is of another scheme.
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
		return "", true // two tokens: neither counts
	}
	return strings.TrimLeft(rest, " "), true
}

// pathParam is a path parameter, decoded once. chi routes on the raw path where decoding would lose something, and
// then its parameters are raw too.
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
