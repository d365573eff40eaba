// Package web serves the HTTP side of every route group: one chi router with one huma API. It puts the company guard, the
// body rules and the mapping of faults to problem documents (RFC 9457) around each operation.
//
// A group registers its operations on Server.API. An operation is either company-scoped (its path begins with
// /companies/{companyId} and its Security is Needs(scope…)) or marked by Public. Registering any other operation panics, so that
// no route lacks its guard. Handlers read the caller with Tenant and CallerOf and return *fault.Error.
package web

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"orgops/shared/base/fault"
	"orgops/shared/base/version"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// Verifier checks a bearer token of the API, or of one of resources. It returns fault.Unauthenticated for an invalid one.
// *token.Verifier implements it.
type Verifier interface {
	Verify(text string, resources ...string) (token.Claims, error)
}

// Options holds the settings and the parts of a Server.
type Options struct {
	Title     string                               // of the OpenAPI document
	Build     version.Build                        // of the program; the OpenAPI document has the version of its release
	ServerURL string                               // of the OpenAPI document; "" is "/"
	Logger    *slog.Logger                         // nil: slog.Default()
	Verifier  Verifier                             // required for company-scoped operations
	Tenant    func(companyID string) store.Company // binds the store to the guarded company; required for company-scoped operations
	// Ended returns fault.Unauthenticated for a token that was ended before it expires; c is bound to the token's company.
	// suspended reports that the company is suspended. nil: every valid token is accepted until it expires.
	Ended func(ctx context.Context, c store.Company, claims token.Claims) (suspended bool, err error)

	// Plan counts a request against the plan of a company, and against the limits of an agent that sends it. It returns 0, or how long the
	// caller is to wait and for which of the limits. nil: a gateway in front counts, or nothing does.
	Plan func(company, plan, agent string) (limit string, wait time.Duration)

	// Audit returns the write of a record of a request for an audited operation, in the company's partition. number tells the
	// attempts of one request to write from each other. nil: nothing is recorded.
	Audit func(c store.Company, a Audit, number int) store.Op

	CursorKey []byte           // seals page cursors and fingerprints requests; empty: a random key for this process
	Now       func() time.Time // nil: time.Now
	Origins   Origins          // origins of the pages that may read answers
	Bases     []string         // the service's own addresses, without a slash at the end, the current one first
	Vault     vault.Vault      // seals kept answers that hold a secret; required for operations with such answers

	// Bodies shares the memory for the bodies in flight. nil: bodies are not counted, in a process that serves one request at a time.
	Bodies Bodies

	// OnDemand makes each operation with its first request, and no document. It suits a process that uses few operations.
	OnDemand bool
}

// Server serves every registered operation. It implements http.Handler.
type Server struct {
	opts           Options
	router         *chi.Mux
	api            *api
	cursors        *cursors
	failures       failures // of known users
	strangers      failures // of unknown names, which could fill the table of the known users
	fingerprintKey []byte   // of requests with an Idempotency-Key
	operations     []*huma.Operation
	marked         sync.Once
}

// New makes a server without operations. It panics on an unusable CursorKey.
func New(opts Options) *Server {
	replaceErrors()
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if len(opts.CursorKey) == 0 {
		opts.CursorKey = make([]byte, 32)
		rand.Read(opts.CursorKey)
	}
	s := &Server{opts: opts, router: chi.NewMux(), cursors: newCursors(opts.CursorKey), fingerprintKey: derive(opts.CursorKey, "orgops idempotency")}
	s.router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, fault.New(fault.NotFound, "there is no such path"))
	})
	s.router.MethodNotAllowed(s.otherMethod)
	s.api = newAPI(s, func(op *huma.Operation, serve http.HandlerFunc) {
		s.operations = append(s.operations, op)
		s.route(op, serve)
	})
	return s
}

// API returns the API that route groups register on.
func (s *Server) API() huma.API { return s.api }

// Operations lists every operation registered so far, including those left out of the document.
func (s *Server) Operations() []*huma.Operation { return s.operations }

// Document returns the OpenAPI 3.1 document of the registered operations. Call it after the last registration, because the
// first call completes it.
func (s *Server) Document() *huma.OpenAPI {
	s.marked.Do(func() {
		markOpen(s.api.OpenAPI())
		publish(s.api.OpenAPI())
	})
	return s.api.OpenAPI()
}

// route puts an operation on the router.
func (s *Server) route(op *huma.Operation, serve http.HandlerFunc) {
	s.router.MethodFunc(op.Method, op.Path, serve)
	if isLenient(op) {
		s.router.MethodFunc(op.Method, op.Path+"/", serve)
	}
	if op.Method == http.MethodGet {
		s.router.MethodFunc(http.MethodHead, op.Path, serve)
	}
}

// Router returns the router for handlers that are not operations, such as documentation pages. Nothing guards them.
func (s *Server) Router() chi.Router { return s.router }

// ServeHTTP answers one request: it sets the request id and safe default headers, routes, recovers, and logs one line.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.opts.Now()
	req := &request{server: s, id: newRequestID(r.Context()), route: "unmatched", url: r.URL, base: basePath(r.Context()), header: r.Header, remote: r.RemoteAddr}
	rw := &response{ResponseWriter: w, req: req, head: r.Method == http.MethodHead}
	h := w.Header()
	h.Set("X-Request-Id", req.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	s.opts.Origins.Share(h, r.Header.Get("Origin"))
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
	rw.r = r
	defer req.release()
	defer func() {
		if v := recover(); v != nil {
			s.recovered(rw, r, req, v)
		}
		if rw.status == 0 {
			rw.WriteHeader(http.StatusOK)
		}
		rw.release()
		req.trail.end(r.Context(), rw.status)
		req.log(r, rw.status, s.opts.Now().Sub(start))
	}()
	if r.ContentLength != 0 {
		boundBody(rw)
	}
	if _, err := url.PathUnescape(r.URL.RawPath); err != nil {
		s.refuse(rw, r, fault.New(fault.Malformed, "the path holds a % that is not followed by two hexadecimal digits"))
		return
	}
	s.router.ServeHTTP(rw, r)
}

// recovered turns a panic into a 500. If the answer has already begun, it aborts the connection, so that the client does
// not take a part of the answer for the whole.
func (s *Server) recovered(w *response, r *http.Request, req *request, v any) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	s.opts.Logger.ErrorContext(r.Context(), "handler panicked", "request", req.id, "route", req.route, "panic", v, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	s.refuse(w, r, errors.New("panic"))
}

// otherMethod answers OPTIONS, and refuses methods that the path does not support.
func (s *Server) otherMethod(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if s.router.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	allowed = append(allowed, http.MethodOptions)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	if r.Method == http.MethodOptions {
		options(w, r, allowed)
		return
	}
	s.refuse(w, r, fault.New(fault.MethodNotAllowed, "this path does not support the method; Allow lists those that it supports"))
}
