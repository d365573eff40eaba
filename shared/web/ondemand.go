package web

import (
	"context"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// Register mounts an operation with huma.Register. If the server makes operations on demand, it does so when the first
// request for the operation arrives. Register panics on a programming error in either case. describe adds documentation
// that takes time to make; it runs when the operation is made.
func Register[I, O any](on huma.API, op huma.Operation, handler func(context.Context, *I) (*O, error), describe ...func(huma.Operation) huma.Operation) {
	register := func(on huma.API) {
		described := op
		for _, d := range describe {
			described = d(described)
		}
		huma.Register(on, described, handler)
	}
	if a, ok := on.(*api); ok && a.server.opts.OnDemand {
		a.server.registerOnDemand(op, register)
		return
	}
	register(on)
}

// registerOnDemand mounts an operation that is made with its first request. Each has its own schema registry, so that
// making one operation does not affect another.
func (s *Server) registerOnDemand(op huma.Operation, register func(huma.API)) {
	scopesOf(&op)
	made := sync.OnceValue(func() http.HandlerFunc {
		var serve http.HandlerFunc
		register(newAPI(s, func(_ *huma.Operation, h http.HandlerFunc) { serve = h }))
		return serve
	})
	s.route(&op, func(w http.ResponseWriter, r *http.Request) { made()(w, r) })
}
