package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/fault"
)

// Problem is the body of every error (RFC 9457). Its type is the URI reference /problems/<kind>, stable for clients: a name
// at which there is nothing to be found, and so the same below every base path.
type Problem struct { //nolint:errname // the name of the thing in RFC 9457
	Type     string          `json:"type" format:"uri-reference" example:"/problems/not-found" doc:"What kind of problem this is: the same for every occurrence"`
	Title    string          `json:"title" example:"Not found" doc:"The kind in words"`
	Status   int             `json:"status" example:"404" doc:"The HTTP status code"`
	Detail   string          `json:"detail,omitempty" doc:"What is wrong this time, and what would be right"`
	Instance string          `json:"instance,omitempty" format:"uri" doc:"This occurrence: the request id as a URN"`
	Errors   []fault.Problem `json:"errors,omitempty" nullable:"false" doc:"Every single thing wrong with the request"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus makes a Problem a huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType makes a Problem application/problem+json.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

var _ huma.StatusError = (*Problem)(nil)

// statusOf is the one table of kinds: status and title. What is not in it is Internal.
func statusOf(kind fault.Kind) (status int, title string) {
	switch kind {
	case fault.Malformed:
		return 400, "Malformed request"
	case fault.Unauthenticated:
		return 401, "Not authenticated"
	case fault.Forbidden:
		return 403, "Forbidden"
	case fault.InsufficientScope:
		return 403, "Insufficient scope"
	case fault.DeniedByPolicy:
		return 403, "Denied by policy"
	case fault.NotFound:
		return 404, "Not found"
	case fault.MethodNotAllowed:
		return 405, "Method not allowed"
	case fault.Conflict:
		return 409, "Conflict"
	case fault.SyncRunning:
		return 409, "Sync running"
	case fault.Stale:
		return 412, "Changed since it was read"
	case fault.TooLarge:
		return 413, "Too large"
	case fault.UnsupportedMediaType:
		return 415, "Unsupported media type"
	case fault.Invalid:
		return 422, "Invalid request"
	case fault.PreconditionRequired:
		return 428, "Precondition required"
	case fault.QuotaExceeded:
		return 429, "Quota exceeded"
	case fault.Unavailable:
		return 503, "Unavailable"
	}
	return 500, "Internal error"
}

// retryAfter is told with an unavailability that knows no better.
const retryAfter = 2 * time.Second

// problemOf makes the public face of an error and sets the headers that belong to it. What is not a fault is masked:
// its text is only kept for the log.
func problemOf(req *request, err error, h http.Header) *Problem {
	var f *fault.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = fault.Wrap(fault.Unavailable, "the request was given up before it was done; try again", err)
	}
	if !errors.As(err, &f) || f.Kind == fault.Internal {
		f = fault.New(fault.Internal, "internal error")
	}
	status, title := statusOf(f.Kind)
	p := &Problem{Type: "/problems/" + f.Kind.String(), Title: title, Status: status, Detail: f.Detail, Errors: firstOfMany(f.Problems)}
	if req != nil {
		p.Instance = "urn:uuid:" + req.id
		if status >= http.StatusInternalServerError {
			req.cause = err
		}
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
		h.Set("WWW-Authenticate", "Bearer")
	}
	return p
}

// maxProblems is how many problems an answer lists: a body of a megabyte can have ninety thousand.
const maxProblems = 100

func firstOfMany(problems []fault.Problem) []fault.Problem {
	if len(problems) <= maxProblems {
		return problems
	}
	more := fault.Problem{Detail: fmt.Sprintf("and %d more", len(problems)-maxProblems)}
	return append(problems[:maxProblems:maxProblems], more)
}

// refuse answers with the problem of err, outside huma.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(requestOf(r.Context()), err, w.Header())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone: nothing to do about it
}

// replaceErrors puts our problem documents in the place of huma's, which echo values and internal errors. huma keeps
// these as package variables, so it can only be done once for the process.
//
//nolint:gochecknoglobals // it guards globals of another package
var replaceErrors = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true // else {"url": checked, "URL": unchecked} would pass, and the second be taken
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return problemOf(nil, faultOf(status, msg, errs), http.Header{})
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		req := requestOf(ctx.Context())
		return problemOf(req, faultOf(status, msg, errs), headerOf(ctx))
	}
})
