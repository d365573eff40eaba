package listen

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// serve serves until ctx ends; then it finishes the requests in flight, for at most five seconds.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	waiting := &unused{conns: map[net.Conn]bool{}}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ConnState: waiting.note}
	server.RegisterOnShutdown(waiting.close)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = server.Shutdown(stopping) // after five seconds, the rest ends with the process
	return nil
}

// unused tracks the connections that have carried no request yet. Senders open some in advance, and Shutdown would wait five
// seconds for each.
type unused struct {
	mu      sync.Mutex
	conns   map[net.Conn]bool
	closing bool
}

// note implements http.Server.ConnState.
func (u *unused) note(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(u.conns, conn)
	case u.closing:
		conn.Close()
	default:
		u.conns[conn] = true
	}
}

func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closing = true
	for conn := range u.conns {
		conn.Close()
	}
}
