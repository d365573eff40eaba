package process

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// maxConns bounds the connections of the process. Each takes about 10 kB, and a stranger may open any number.
const maxConns = 1024

// Limits of refusals. Beyond maxRefusals at once, connections are closed without an answer.
const (
	maxRefusals   = 64
	refusalBudget = time.Second
	refusalAfter  = 2 // seconds, as in every other 503
)

// limited hands out at most so many connections of a listener at once, and refuses the others.
type limited struct {
	net.Listener
	free     chan struct{} // one token for each connection that may still be opened
	refusing atomic.Int32
}

// limit returns a listener with at most n connections at once.
func limit(l net.Listener, n int) net.Listener {
	free := make(chan struct{}, n)
	for range n {
		free <- struct{}{}
	}
	return &limited{Listener: l, free: free}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case <-l.free:
			return &counted{Conn: conn, release: sync.OnceFunc(func() { l.free <- struct{}{} })}, nil
		default:
			l.refuse(conn)
		}
	}
}

// refuse answers 503 to a connection's first request, without reading it, and closes the connection.
func (l *limited) refuse(conn net.Conn) {
	if l.refusing.Add(1) > maxRefusals {
		l.refusing.Add(-1)
		conn.Close()
		return
	}
	go func() {
		defer l.refusing.Add(-1)
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(refusalBudget))
		if _, err := io.WriteString(conn, refusal()); err != nil {
			return
		}
		// A connection that is closed with unread bytes is reset, and the caller may lose the answer.
		if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(conn, 64<<10))
		}
	}()
}

func refusal() string {
	const body = `{"type":"/problems/unavailable","title":"Unavailable","status":503,"detail":"too many connections are open; try again"}`
	return fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: %d\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", refusalAfter, len(body), body)
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
