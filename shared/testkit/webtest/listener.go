package webtest

import "net"

// Listener makes a listener that accepts one connection, such as an end of net.Pipe, which works with testing/synctest.
func Listener(conn net.Conn) net.Listener {
	return &oneConn{conn: conn, closed: make(chan struct{})}
}

type oneConn struct {
	conn   net.Conn
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *oneConn) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener. The server calls it once.
func (l *oneConn) Close() error { close(l.closed); return nil }

// Addr implements net.Listener.
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
