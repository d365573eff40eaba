package edge

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// MaxConns bounds the connections of a process. Each takes about 10 kB, and a stranger may open any number.
const MaxConns = 1024

// Conns bounds the connections of a server, and shares them among the addresses that they come from. At a limit, a new connection
// takes the place of one on which no request is being served: the one of the address with the most connections that has waited
// longest. So connections that are idle, or whose request does not arrive, keep no one out. Only if all are being served, the new
// one is refused.
type Conns struct {
	most, fromOne int // all together, and from one address
	proxies       Proxies

	mu       sync.Mutex
	open     map[*conn]struct{}
	held     map[netip.Prefix]int // by source
	turn     uint64               // the clock by which connections wait
	refusing int
}

// NewConns makes a Conns for at most so many connections at once, of which one address may have half. A trusted proxy, which
// brings the connections of many, may have all.
func NewConns(most int, proxies Proxies) *Conns {
	return &Conns{most: most, fromOne: max(most/2, 1), proxies: proxies, open: map[*conn]struct{}{}, held: map[netip.Prefix]int{}}
}

// Serve prepares a server whose connections come from the listener that it returns.
func (c *Conns) Serve(s *http.Server, l net.Listener) net.Listener {
	s.ConnContext = func(ctx context.Context, open net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, open)
	}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open, ok := r.Context().Value(connKey{}).(*conn); ok {
			if !c.begin(open) { // it was closed, so its client gets no answer
				panic(http.ErrAbortHandler)
			}
			defer c.end(open)
		}
		next.ServeHTTP(w, r)
	})
	return &listener{l, c}
}

type connKey struct{}

type listener struct {
	net.Listener
	conns *Conns
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if open := l.conns.admit(accepted); open != nil {
			return open, nil
		}
		l.conns.refuse(accepted)
	}
}

// conn counts until it is closed. The lock of its owner guards removed, serving and turn.
type conn struct {
	net.Conn
	owner   *Conns
	source  netip.Prefix
	removed bool // it does not count any more
	serving bool
	turn    uint64 // when it was opened or last served
	once    sync.Once
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() { c.owner.closed(c) })
	return c.Conn.Close()
}

// Write implements net.Conn. It turns the plain answers of net/http to what is no valid request into problems.
func (c *conn) Write(p []byte) (int, error) {
	if answer, ok := problemFor(p); ok {
		_, err := c.Conn.Write(answer)
		return len(p), err
	}
	return c.Conn.Write(p)
}

// CloseWrite lets net/http end an answer before the request has been read.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// admit counts a connection. It closes another one if it has to, and returns nil if it finds no connection to close.
func (c *Conns) admit(accepted net.Conn) *conn {
	source, limited := c.sourceOf(accepted)
	c.mu.Lock()
	var victim *conn
	switch {
	case limited && c.held[source] >= c.fromOne:
		victim = c.waiting(func(o *conn) bool { return o.source == source })
	case len(c.open) >= c.most:
		victim = c.waiting(func(*conn) bool { return true })
	default:
		defer c.mu.Unlock()
		return c.add(accepted, source)
	}
	if victim == nil {
		c.mu.Unlock()
		return nil
	}
	c.remove(victim)
	open := c.add(accepted, source)
	c.mu.Unlock()
	_ = victim.Close()
	return open
}

// waiting returns the connection to close among those that match, or nil. The caller holds the lock.
func (c *Conns) waiting(matches func(*conn) bool) (victim *conn) {
	for o := range c.open {
		if o.serving || !matches(o) {
			continue
		}
		if victim == nil || c.held[o.source] > c.held[victim.source] || c.held[o.source] == c.held[victim.source] && o.turn < victim.turn {
			victim = o
		}
	}
	return victim
}

func (c *Conns) add(accepted net.Conn, source netip.Prefix) *conn {
	c.turn++
	open := &conn{Conn: accepted, owner: c, source: source, turn: c.turn}
	c.open[open] = struct{}{}
	c.held[source]++
	return open
}

// remove ends the count of a connection, once.
func (c *Conns) remove(open *conn) {
	if open.removed {
		return
	}
	open.removed = true
	delete(c.open, open)
	if c.held[open.source]--; c.held[open.source] == 0 {
		delete(c.held, open.source)
	}
}

func (c *Conns) closed(open *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(open)
}

// begin marks a connection as serving a request. It returns false if the connection has made room for another.
func (c *Conns) begin(open *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	open.serving = !open.removed
	return open.serving
}

func (c *Conns) end(open *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	open.serving, open.turn = false, c.turn
}

// sourceOf returns what one subscriber has: an IPv4 address, or the /64 of an IPv6 address. limited is false for a trusted proxy.
func (c *Conns) sourceOf(accepted net.Conn) (source netip.Prefix, limited bool) {
	a, ok := parseAddr(accepted.RemoteAddr().String())
	if !ok {
		return netip.Prefix{}, true
	}
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(a, bits).Masked(), !c.proxies.trusts(a)
}
