// Package outbound is the one way out of the service: every webhook, certification probe and feed is requested through
// its Client, under one set of rules.
//
// The rules: the address that a name resolved to must be public, checked as the connection is dialled, so that neither a
// private record nor a rebinding one gets through; no redirect is followed; no proxy is taken from the environment; TLS
// is 1.2 or newer; an answer's header has a limit, and its body has the limit that the caller reads with.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// Options loosen the rules for the places that need it. The zero Options are the hosted service's.
type Options struct {
	AllowLoopback bool           // the local run: 127.0.0.0/8, ::1 and localhost, by plain HTTP too
	AllowNetworks []netip.Prefix // networks that are not public and still may be reached, by plain HTTP too
	RootCAs       *x509.CertPool // nil: the system's
}

// Limits of one client. Idle connections cost a few kilobytes each, a fresh TLS connection costs a millisecond of CPU.
const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	idleTimeout      = 90 * time.Second
	maxIdle          = 512
	maxIdlePerHost   = 128
	maxHeader        = 32 << 10
)

// Client sends requests under the rules. It is safe for concurrent use, and meant to be made once a process.
type Client struct {
	opts      Options
	guard     *ssrf.Guardian
	transport *http.Transport
}

// New is a client with its own connections.
func New(opts Options) *Client {
	c := &Client{opts: opts, guard: newGuard(opts)}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: c.control}
	c.transport = &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: opts.RootCAs, ClientSessionCache: tls.NewLRUClientSessionCache(256)},
		TLSHandshakeTimeout:    handshakeTimeout,
		ForceAttemptHTTP2:      true, // a custom dialer turns it off otherwise
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		DisableCompression:     true, // what was sent is what counts against a limit
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
	return c
}

// Do sends one request and answers as http.RoundTripper does: a redirect is an answer like any other, the caller closes
// the body, and the request's context bounds all of it, the reading of the body too. Explain puts its errors into words.
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.transport.RoundTrip(req) }

// CloseIdle closes the connections that no request is using.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }
