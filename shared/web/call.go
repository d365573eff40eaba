package web

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"orgops/shared/base/id"
	"orgops/shared/identity/token"
)

// callKey is the context key of the claims of the caller for whom an operation makes a request.
type callKey struct{}

// Answer holds the answer to a Call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call makes a request for another operation of the server, as the caller of the request under ctx. The operation checks, limits and
// records it as it does with a request over HTTP. Only the token is not sent again, and the company's plan counts the outer
// request. target is a path below the company's, with a query.
func Call(ctx context.Context, method, target string, header http.Header, body []byte) (Answer, error) {
	return CallAs(ctx, requestOf(ctx).claims, method, target, header, body)
}

// CallAs makes such a request as a caller whom the operation has authenticated by other means than a token. The claims are those that a
// token of the caller would have now.
func CallAs(ctx context.Context, claims token.Claims, method, target string, header http.Header, body []byte) (Answer, error) {
	outer := requestOf(ctx)
	ctx = context.WithValue(context.WithValue(ctx, callKey{}, claims), givenIDKey{}, id.New())
	ctx = context.WithValue(ctx, chi.RouteCtxKey, nil) // otherwise the router continues the outer request's route
	r, err := http.NewRequestWithContext(ctx, method, "/companies/"+claims.Company+target, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if len(body) == 0 {
		r.Body, r.ContentLength = http.NoBody, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.RemoteAddr, r.RequestURI = outer.remote, r.URL.RequestURI()
	w := &keptResponse{header: http.Header{}}
	outer.server.ServeHTTP(w, r)
	w.WriteHeader(http.StatusOK)
	return Answer{Status: w.status, Header: w.header, Body: w.body.Bytes()}, nil
}

// calling returns the claims of the caller for whom an operation of the service makes a request.
func calling(ctx context.Context) (claims token.Claims, ok bool) {
	claims, ok = ctx.Value(callKey{}).(token.Claims)
	return claims, ok
}

// Handled returns the answer that an http.Handler gives to the current request, whose body has been read.
func Handled(body []byte, h http.Handler) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humachi.Unwrap(ctx)
		again := r.Clone(ctx.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.ServeHTTP(w, again)
	}}
}
