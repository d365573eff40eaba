package web

import (
	"context"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// Register mounts an operation: huma.Register, or, on a server that makes its operations on demand, that with the first
// request that is for it. What can only be a mistake in the program panics here in either case. What takes time to say of
// an operation is said by describe, when it is made.
func Register[I, O any](on huma.API, op huma.Operation, handler func(context.Context, *I) (*O, error), describe ...func(huma.Operation) huma.Operation) {
	register := func(on huma.API) {
		described := op
		for _, d := range describe {
			described = d(described)
		}
		huma.Register(on, described, handler)
	}
	if a, ok := on.(*api); ok && a.server.opts.OnDemand {
		a.server.later(op, register)
		return
	}
	register(on)
}

// later mounts an operation that is made when it is first asked for. Each has a registry of schemas of its own, so that
// making one is nothing that another can notice.
func (s *Server) later(op huma.Operation, register func(huma.API)) {
	scopesOf(&op)
	made := sync.OnceValue(func() http.HandlerFunc {
		var serve http.HandlerFunc
		register(newAPI(s, func(_ *huma.Operation, h http.HandlerFunc) { serve = h }))
		return serve
	})
	s.route(&op, func(w http.ResponseWriter, r *http.Request) { made()(w, r) })
}
