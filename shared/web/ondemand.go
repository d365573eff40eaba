package web

import (
	"context"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// Register mounts an operation with huma.Register. A server with OnDemand makes the operation when its first request
// arrives. In both cases Register panics if the operation is neither guarded nor public. describe adds documentation that
// takes time to make. It runs when the operation is made.
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

// registerOnDemand mounts an operation that is made with its first request. Each such operation has its own schema
// registry, so that making one does not affect another.
func (s *Server) registerOnDemand(op huma.Operation, register func(huma.API)) {
	scopesOf(&op)
	made := sync.OnceValue(func() http.HandlerFunc {
		var serve http.HandlerFunc
		register(newAPI(s, func(_ *huma.Operation, h http.HandlerFunc) { serve = h }))
		return serve
	})
	s.route(&op, func(w http.ResponseWriter, r *http.Request) { made()(w, r) })
}
