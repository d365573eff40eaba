package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// maxFresh bounds the new connections of one request. A server may close a connection of HTTP/2 and say that it took nothing of it (RFC 9113
// §6.8). The request is then sent on another one, without a bound and without a pause: a server that always does so would get thousands
// in an attempt.
const maxFresh = 3

var errTurnedAway = brokenError("the server closes each connection before it takes the request (HTTP/2 GOAWAY)")

// attempt follows one request over its connections.
type attempt struct {
	fresh int
	http2 bool
	stop  context.CancelCauseFunc
}

// follow returns the request under a context that ends when the request has used up its connections. Only with TLS is there HTTP/2.
func (c *Client) follow(req *http.Request) (*http.Request, *attempt) {
	if req.URL.Scheme != "https" {
		return req, &attempt{stop: func(error) {}}
	}
	ctx, stop := context.WithCancelCause(req.Context())
	a := &attempt{stop: stop}
	sent := req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: a.got}))
	sent.Close = req.Close || c.stuck.take(req.URL.Host)
	return sent, a
}

func (a *attempt) got(info httptrace.GotConnInfo) {
	secure, ok := info.Conn.(*tls.Conn)
	a.http2 = ok && secure.ConnectionState().NegotiatedProtocol == "h2"
	if info.Reused {
		return
	}
	if a.fresh++; a.fresh > maxFresh {
		a.stop(errTurnedAway)
	}
}

// maxStuck bounds the hosts that are remembered at a time.
const maxStuck = 1000

// stuck holds the hosts that have let a request of HTTP/2 wait too long. All requests to a host share a connection, and one whose window
// the server never opens takes no more of them (RFC 9113 §5.2). So the next request to the host is the last one on its connection.
type stuck struct {
	mu    sync.Mutex
	hosts map[string]bool
}

// note remembers the host of a request that ended with an error.
func (s *stuck) note(host string, a *attempt, err error) {
	if !a.http2 || !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil || len(s.hosts) >= maxStuck {
		s.hosts = map[string]bool{}
	}
	s.hosts[host] = true
}

// take reports whether the host is remembered, and forgets it.
func (s *stuck) take(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.hosts[host]
	delete(s.hosts, host)
	return found
}
