package blackbox_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"orgops/shared/testkit/errtest"
	"os"
	"sync"
	"testing"
	"time"
)

// world serves what the service calls: receivers of webhooks, and feeds. They share one address, so that a deployment elsewhere
// needs one route to this machine.
type world struct {
	url string

	mu       sync.Mutex
	handlers map[string]http.Handler
}

// newWorld listens on a free port of this machine, or at ORGOPS_RECEIVER_ADDR; the service then reaches it at
// ORGOPS_RECEIVER_URL.
func newWorld(t *testing.T) *world {
	t.Helper()
	addr := os.Getenv("ORGOPS_RECEIVER_ADDR")
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	errtest.Must(t, err)
	w := &world{url: "http://" + l.Addr().String(), handlers: map[string]http.Handler{}}
	if url := os.Getenv("ORGOPS_RECEIVER_URL"); url != "" {
		w.url = url
	}
	server := &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		errtest.Must(t, server.Shutdown(context.Background()))
		<-served
	})
	return w
}

// ServeHTTP implements http.Handler.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	h := w.handlers[r.URL.Path]
	w.mu.Unlock()
	if h == nil {
		http.NotFound(out, r)
		return
	}
	h.ServeHTTP(out, r)
}

// serve mounts a handler and returns its url, which the golden file shows by name.
func (j *journey) serve(name string, h http.Handler) string {
	w := j.world
	w.mu.Lock()
	defer w.mu.Unlock()
	path := fmt.Sprintf("/%d/%s", len(w.handlers), name)
	w.handlers[path] = h
	j.mask.alias(w.url+path, name)
	return w.url + path
}
