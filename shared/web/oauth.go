package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
)

// oauthMark is the metadata key of an operation of an OAuth endpoint.
const oauthMark = "orgops-oauth"

const formMedia = "application/x-www-form-urlencoded"

// OAuth marks an operation of an OAuth endpoint with a body of type T. It takes a form too, as RFC 6749 says, ignoring parameters that T
// does not have. The errors of a form are JSON with error and error_description (§5.2), next to the members of a problem.
func OAuth[T any](op huma.Operation) huma.Operation {
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	return Accept(marked(op, oauthMark, known), formMedia)
}

// parametersOf returns the parameters that an OAuth endpoint knows, or nil for another operation.
func parametersOf(op *huma.Operation) map[string]bool {
	known, _ := op.Metadata[oauthMark].(map[string]bool)
	return known
}

// isForm reports whether a request to an OAuth endpoint sends a form.
func isForm(r *http.Request, known map[string]bool) bool {
	return known != nil && mediaOf(r.Header.Get("Content-Type")) == formMedia
}

// takeForm replaces a form by the same parameters as JSON. A parameter may occur once (RFC 6749 §3.2); one without a value counts as
// absent.
func takeForm(r *http.Request, known map[string]bool) error {
	if r.Body == nil {
		return nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return handlerError("cannot read request body", []error{err})
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return fault.New(fault.Malformed, "the body is not a form; encode it as application/x-www-form-urlencoded")
	}
	members := map[string]string{}
	for name, values := range form {
		switch {
		case !known[name]:
		case len(values) > 1:
			return fault.Refuse([]fault.FieldError{{Pointer: fault.Pointer(name), Detail: "occurs more than once; send it once"}})
		case values[0] != "":
			members[name] = values[0]
		}
	}
	body, err := json.Marshal(members)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	return nil
}

// oauthError carries an error code of RFC 6749 §5.2.
type oauthError struct {
	code string
	error
}

func (e oauthError) Unwrap() error { return e.error }

// OAuthError returns err with the error code that an OAuth endpoint answers for it.
func OAuthError(code string, err error) error { return oauthError{code, err} }

// asOAuth completes the problem of a form. What a schema refuses is a bad request there.
func (p *Problem) asOAuth(err error) {
	if p.Status == http.StatusUnprocessableEntity {
		p.Status = http.StatusBadRequest
	}
	p.Media = "application/json"
	p.Description = strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' {
			return '\''
		}
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, p.Detail)
	var of oauthError
	switch {
	case errors.As(err, &of):
		p.Code = of.code
	case p.Status == http.StatusUnauthorized:
		p.Code = "invalid_grant"
	case p.Status == http.StatusForbidden:
		p.Code = "unauthorized_client"
	case p.Status == http.StatusInternalServerError:
		p.Code = "server_error"
	case p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable:
		p.Code = "temporarily_unavailable"
	default:
		p.Code = "invalid_request"
	}
}

// Verified returns the claims of an access token, for the API or for one of resources, that a request carries elsewhere than in its Authorization header. It
// returns fault.Unauthenticated for a token that is invalid, for another resource, or was ended.
func Verified(ctx context.Context, text string, resources ...string) (token.Claims, error) {
	req := requestOf(ctx)
	if req == nil || req.server.opts.Verifier == nil {
		return token.Claims{}, errors.New("web: no request, or no verifier")
	}
	s := req.server
	claims, err := s.opts.Verifier.Verify(text, resources...)
	if err != nil {
		return claims, err
	}
	if s.opts.Ended != nil {
		_, err = s.opts.Ended(ctx, s.opts.Tenant(claims.Company), claims)
	}
	return claims, err
}
