// Package gateway answers API Gateway's events (REST, payload version 1) with an http.Handler, through
// aws-lambda-go-api-proxy. That package leaves four cases to its caller: an answer without a status, an invalid path, an
// invalid base64 body, and a panic. Package gateway answers them too. As an error of the function, each would reach the
// client as a 502 without a reason.
package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"orgops/shared/web"
)

// Build makes the handler. The Gateway calls it at the start, in parallel to the runtime's initialisation. If a call fails,
// the next request calls Build again.
type Build func(ctx context.Context) (http.Handler, error)

// Gateway answers events.
type Gateway struct {
	build   Build
	logger  *slog.Logger
	origins web.Origins

	mu      sync.Mutex
	handler http.Handler
}

// New makes a Gateway and starts to build the handler; the first request waits for it. While the build fails, requests are
// answered with 503. If Lambda freezes the process during the build, that try times out and the next request tries again.
// The origins also apply to answers that the Gateway makes without the handler.
func New(ctx context.Context, build Build, logger *slog.Logger, origins web.Origins) *Gateway {
	g := &Gateway{build: build, logger: logger, origins: origins}
	go g.ready(ctx)
	return g
}

// margin sets how long before the function's timeout a handler's context ends. The handler answers in the remaining time.
const margin = 500 * time.Millisecond

// Answer answers one event. Its error is always nil.
func (g *Gateway) Answer(ctx context.Context, e events.APIGatewayProxyRequest) (resp events.APIGatewayProxyResponse, _ error) {
	defer func() {
		if v := recover(); v != nil { // includes http.ErrAbortHandler: the answer has not left, so it can still be replaced
			g.logger.ErrorContext(ctx, "handler panicked", "request", e.RequestContext.RequestID, "panic", v, "stack", string(debug.Stack()))
			resp = g.problem(e, http.StatusInternalServerError, "internal", "Internal error", "internal error")
		}
	}()
	if detail := malformed(&e); detail != "" {
		return g.problem(e, http.StatusBadRequest, "malformed", "Malformed request", detail), nil
	}
	handler := g.ready(ctx)
	if handler == nil {
		return g.unavailable(e), nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-margin))
		defer cancel()
	}
	ctx = web.WithRequestID(web.WithBasePath(ctx, divide(&e)), e.RequestContext.RequestID)
	resp, err := httpadapter.New(always(handler)).ProxyWithContext(ctx, e)
	if err != nil { // the event is malformed in a way that malformed does not check, such as a method with a space
		g.logger.WarnContext(ctx, "malformed event", "request", e.RequestContext.RequestID, "error", err)
		return g.problem(e, http.StatusBadRequest, "malformed", "Malformed request", "the request cannot be read"), nil
	}
	return resp, nil
}

// ready returns the handler, or nil if it cannot be built.
func (g *Gateway) ready(ctx context.Context) http.Handler {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.handler != nil {
		return g.handler
	}
	handler, err := g.build(ctx)
	if err != nil {
		g.logger.ErrorContext(ctx, "handler not built", "error", err)
		return nil
	}
	g.handler = handler
	return handler
}

// malformed returns why an event is not a valid request, or "" for a valid one.
func malformed(e *events.APIGatewayProxyRequest) string {
	if _, err := url.ParseRequestURI("/" + strings.TrimPrefix(e.Path, "/")); err != nil {
		return "the path holds a % that is not followed by two hexadecimal digits, or a character that a path cannot hold"
	}
	if e.IsBase64Encoded {
		if _, err := base64.StdEncoding.DecodeString(e.Body); err != nil {
			return "the body cannot be read"
		}
	}
	return ""
}

// always makes sure that an answer has a status.
func always(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &status{ResponseWriter: w}
		h.ServeHTTP(s, r)
		if !s.written {
			w.WriteHeader(http.StatusOK)
		}
	})
}

type status struct {
	http.ResponseWriter
	written bool
}

// WriteHeader implements http.ResponseWriter. As with net/http, the first status counts.
func (s *status) WriteHeader(code int) {
	if !s.written {
		s.written = true
		s.ResponseWriter.WriteHeader(code)
	}
}

// Write implements http.ResponseWriter.
func (s *status) Write(b []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return s.ResponseWriter.Write(b)
}

// retryAfter sets the Retry-After of answers from a function that cannot serve yet, in seconds.
const retryAfter = 5

func (g *Gateway) unavailable(e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	resp := g.problem(e, http.StatusServiceUnavailable, "unavailable", "Unavailable", "the service is not ready; try again")
	resp.MultiValueHeaders["Retry-After"] = []string{strconv.Itoa(retryAfter)}
	return resp
}

// problem makes an answer without the handler, in the same form as the handler's problems.
func (g *Gateway) problem(e events.APIGatewayProxyRequest, code int, kind, title, detail string) events.APIGatewayProxyResponse {
	p := web.Problem{Type: "/problems/" + kind, Title: title, Status: code, Detail: detail}
	headers := http.Header{
		"Content-Type": {p.ContentType("")}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"},
	}
	g.origins.Share(headers, origin(e))
	if id := e.RequestContext.RequestID; id != "" {
		p.Instance = "urn:uuid:" + id
		headers["X-Request-Id"] = []string{id}
	}
	body, _ := json.Marshal(p) // strings and numbers
	return events.APIGatewayProxyResponse{StatusCode: code, MultiValueHeaders: headers, Body: string(body)}
}

// origin returns the origin of the requesting page, or "".
func origin(e events.APIGatewayProxyRequest) string {
	for name, value := range e.Headers {
		if strings.EqualFold(name, "Origin") {
			return value
		}
	}
	return ""
}
