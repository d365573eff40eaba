package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// Problem holds the body of every error (RFC 9457). Its type is the URI reference /problems/<kind>, which is the path of
// get-problem-type. The type has no base path, so a client compares it with the same text in every deployment.
type Problem struct { //nolint:errname // the name of the thing in RFC 9457
	Type      string             `json:"type" format:"uri-reference" example:"/problems/not-found" doc:"The kind of problem, the same for every occurrence. GET this path for an explanation"`
	Title     string             `json:"title" example:"Not found" doc:"A short text for the kind"`
	Status    int                `json:"status" example:"404" doc:"The HTTP status code" format:"int32"`
	Detail    string             `json:"detail,omitempty" doc:"What is wrong and what to do about it"`
	Instance  string             `json:"instance,omitempty" format:"uri" doc:"The id of this occurrence: the request id as a URN"`
	Decision  string             `json:"decision,omitempty" format:"uuid" doc:"The id of the policy engine's decision, if the type is /problems/denied-by-policy"`
	Challenge *fault.Challenge   `json:"challenge,omitempty" doc:"What the second factor is sent with, if the type is /problems/second-factor-required and the request was a login"`
	Errors    []fault.FieldError `json:"errors,omitempty" nullable:"false" doc:"Everything that is wrong with the request"`

	Code        string `json:"error,omitempty" doc:"The error code of RFC 6749 §5.2, in the answer to a form of POST /auth/token alone" example:"invalid_client"`
	Description string `json:"error_description,omitempty" doc:"detail in ASCII, in the answer to a form of POST /auth/token alone"`

	Media string `json:"-"` // the media type; "": problemType
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter with application/problem+json, or application/json for a form of OAuth.
func (p *Problem) ContentType(string) string { return cmp.Or(p.Media, problemType) }

const problemType = "application/problem+json"

var _ huma.StatusError = (*Problem)(nil)

// retryAfter sets the Retry-After of a fault.Unavailable that has none.
const retryAfter = 2 * time.Second

// problemOf makes the public problem of an error and sets the headers that belong to it. It masks an error that is not a
// fault: only the log gets its text.
func problemOf(req *request, err error, h http.Header) *Problem {
	var f *fault.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = fault.Wrap(fault.Unavailable, "the request was cancelled or timed out before it was done; try again", err)
	}
	if !errors.As(err, &f) && (errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown)) {
		err = store.Fault(err, "") // the handler did not expect that the store fails here
	}
	if !errors.As(err, &f) || f.Kind == fault.Internal {
		f = fault.New(fault.Internal, "internal error")
	}
	k := problemKindOf(f.Kind)
	status := k.status
	p := &Problem{Type: k.typeURI(), Title: k.title, Status: status, Detail: f.Detail, Decision: f.Decision, Challenge: f.Challenge, Errors: firstOfMany(f.Problems)}
	if req != nil {
		p.Instance = "urn:uuid:" + req.id
		if status >= http.StatusInternalServerError {
			req.cause = err
		}
		if req.oauth {
			p.asOAuth(err)
		}
	}
	if f.Current != "" {
		h.Set("ETag", f.Current)
	}
	after := f.RetryAfter
	if after == 0 && f.Kind == fault.Unavailable {
		after = retryAfter
	}
	if after > 0 {
		seconds := int64((after + time.Second - 1) / time.Second)
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", challengeOf(req))
	}
	return p
}

// challengeOf returns the scheme that a 401 asks for: that of the operation, or Bearer.
func challengeOf(req *request) string {
	if req != nil && req.challenge != "" {
		return req.challenge
	}
	return "Bearer"
}

// maxProblems limits the problems in an answer, because a body of a megabyte can have ninety thousand.
const maxProblems = 100

func firstOfMany(problems []fault.FieldError) []fault.FieldError {
	if len(problems) <= maxProblems {
		return problems
	}
	more := fault.FieldError{Detail: fmt.Sprintf("and %d more", len(problems)-maxProblems)}
	return append(problems[:maxProblems:maxProblems], more)
}

// refuse writes the problem of err as the answer, outside huma.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(requestOf(r.Context()), err, w.Header())
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // fails only if the client has disconnected
}

// replaceErrors makes huma answer with Problem. huma's own documents repeat values and internal errors. huma keeps its
// functions in package variables, so replaceErrors sets them once for the process.
//
//nolint:gochecknoglobals // it guards globals of another package
var replaceErrors = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false // a list without items is [], in requests and in answers
	huma.ValidateStrictCasing = true  // otherwise {"url": checked, "URL": unchecked} passes and the second wins
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return problemOf(nil, faultOf(status, msg, errs), http.Header{})
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		req := requestOf(ctx.Context())
		return problemOf(req, faultOf(status, msg, errs), headerOf(ctx))
	}
})
