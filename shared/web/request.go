package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"orgops/shared/id"
	"orgops/shared/store"
)

type requestKey struct{}

// request is what is known of one request: made in ServeHTTP, completed by the guard before any handler runs.
type request struct {
	server    *Server
	id        string
	route     string // the pattern, never the path
	operation string
	url       *url.URL
	base      string // of references, before the url's path
	header    http.Header
	caller    Caller
	tenant    store.Company
	cause     error // of a 5xx
}

// Caller is who the guard let in.
type Caller struct {
	UserID  string
	Company string
	Plan    string
	Scopes  []string
	TokenID string
}

// Has reports whether the caller's token carries a scope.
func (c Caller) Has(scope string) bool { return slices.Contains(c.Scopes, scope) }

func requestOf(ctx context.Context) *request {
	req, _ := ctx.Value(requestKey{}).(*request)
	return req
}

// Tenant is the store bound to the guarded company. Outside a company-scoped operation it is the zero Company, which
// fails every call.
func Tenant(ctx context.Context) store.Company {
	if req := requestOf(ctx); req != nil {
		return req.tenant
	}
	return store.Company{}
}

// CallerOf is who the guard let in. Outside a company-scoped operation it is nobody.
func CallerOf(ctx context.Context) Caller {
	if req := requestOf(ctx); req != nil {
		return req.caller
	}
	return Caller{}
}

type givenIDKey struct{}

// WithRequestID has a request that is served under the context go by the id that a gateway has given it, so that its own
// log and ours tell of one thing. One that is no UUID, which whoever asks may have brought, is not taken.
func WithRequestID(ctx context.Context, given string) context.Context {
	if len(given) != len(uuid.UUID{}.String()) || uuid.Validate(given) != nil {
		return ctx
	}
	return context.WithValue(ctx, givenIDKey{}, given)
}

// newRequestID is the given id, or a new one.
func newRequestID(ctx context.Context) string {
	if given, ok := ctx.Value(givenIDKey{}).(string); ok {
		return given
	}
	return id.New()
}

// log writes the request's one line: no body, no header, no query, and the route's pattern in place of the path.
func (req *request) log(r *http.Request, status int, took time.Duration) {
	ctx, logger, level := r.Context(), req.server.opts.Logger, slog.LevelDebug
	switch {
	case status == http.StatusInternalServerError:
		level = slog.LevelError
	case status > http.StatusInternalServerError:
		level = slog.LevelWarn
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", req.id), slog.String("method", r.Method), slog.String("route", req.route),
		slog.Int("status", status), slog.Duration("took", took),
	}
	if req.caller.Company != "" {
		attrs = append(attrs, slog.String("company", req.caller.Company))
	}
	if req.cause != nil {
		attrs = append(attrs, slog.String("cause", req.cause.Error()))
	}
	logger.LogAttrs(ctx, level, "request", attrs...)
}

// response remembers the status, and keeps the body of an answer to HEAD.
type response struct {
	http.ResponseWriter
	head   bool
	status int
}

func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.head {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
