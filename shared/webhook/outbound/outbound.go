// Package outbound sends every request that leaves the service: webhooks, certification probes and feeds. It also opens the
// connections to databases. Its Client applies one set of egress rules.
//
// The resolved address must be public. The client checks the address when it dials the connection, so that no name can lead
// to a private address, not even by DNS rebinding. The client follows no redirect, takes no proxy from the environment, and
// requires TLS 1.2. The client limits the size of an answer's header. The caller limits how much of the body it reads.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// Options loosens the rules. The hosted service uses the zero Options.
type Options struct {
	AllowLoopback bool           // for the local run: allows 127.0.0.0/8, ::1 and localhost, also over plain HTTP
	AllowNetworks []netip.Prefix // allows networks that are not public, also over plain HTTP
	RootCAs       *x509.CertPool // nil: the system's
	// Transport replaces the connections, and with them the rules about addresses. It is for simulations, which have no
	// network. Nil: the client makes its own.
	Transport http.RoundTripper
}

// Limits of one client. An idle connection takes a few kilobytes; a new TLS connection takes a millisecond of CPU.
const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	idleTimeout      = 90 * time.Second
	maxIdle          = 512
	maxIdlePerHost   = 128
	maxHeader        = 32 << 10
	readBuffer       = 1 << 10 // of a connection: an answer's header
	writeBuffer      = 2 << 10 // of a connection: a request of a usual size
)

// Permit decides whether a request to a host may be sent. A request that it refuses fails with its error.
type Permit func(ctx context.Context, host string) error

type permitKey struct{}

// WithPermit returns a context under which every client asks permit before each request.
func WithPermit(ctx context.Context, permit Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, permit)
}

// Client sends requests under the rules. Make one per process. It is safe for concurrent use.
type Client struct {
	opts      Options
	guard     *ssrf.Guardian
	dialer    *net.Dialer
	transport *http.Transport
	send      http.RoundTripper
	stuck     *stuck
}

// Public returns a client that reaches none of AllowNetworks: for addresses that strangers choose. A nil client stays nil.
func (c *Client) Public() *Client {
	if c == nil || len(c.opts.AllowNetworks) == 0 {
		return c
	}
	opts := c.opts
	opts.AllowNetworks = nil
	return New(opts)
}

// Through returns a client under the rules of c, which sends by another transport.
func (c *Client) Through(send http.RoundTripper) *Client {
	other := *c
	other.send = send
	return &other
}

// New makes a client with its own connections.
func New(opts Options) *Client {
	c := &Client{opts: opts, guard: newGuard(opts), stuck: &stuck{}}
	c.dialer = &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: c.control}
	c.transport = &http.Transport{
		DialContext:            c.dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: opts.RootCAs, ClientSessionCache: tls.NewLRUClientSessionCache(256)},
		TLSHandshakeTimeout:    handshakeTimeout,
		ForceAttemptHTTP2:      true, // a custom dialer turns it off otherwise
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		DisableCompression:     true, // limits count the bytes that were sent
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         readBuffer,
		WriteBufferSize:        writeBuffer,
	}
	if c.send = opts.Transport; c.send == nil {
		c.send = c.transport
	}
	return c
}

// Do sends one request as http.RoundTripper does. It returns a redirect like any other answer. The caller closes the body.
// The request's context bounds the whole exchange, including the reading of the body. Explain describes its errors.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if err := allowed(req.Context(), req.URL); err != nil {
		return nil, err
	}
	sent, a := c.follow(sendable(req))
	resp, err := c.send.RoundTrip(sent)
	if err != nil {
		c.stuck.note(sent.URL.Host, a, err)
		a.stop(nil)
		if errors.Is(context.Cause(sent.Context()), errTurnedAway) {
			return nil, errTurnedAway
		}
		return nil, plain(err)
	}
	resp.Body = answerBody{resp.Body, a.stop}
	return resp, nil
}

// CloseIdle closes the connections that no request is using.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }
