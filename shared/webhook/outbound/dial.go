package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"

	"orgops/shared/base/fault"
)

// Dial opens a connection to an address such as db.example.com:5432, for a protocol other than HTTP. The rules of Do apply to it: the
// address that is connected must be allowed, the context's permit is asked about the host, and with WithOrigin the scheme, host and port
// must be those of the origin.
func (c *Client) Dial(ctx context.Context, scheme, address string) (net.Conn, error) {
	if err := allowed(ctx, &url.URL{Scheme: scheme, Host: address}); err != nil {
		return nil, err
	}
	return c.dialer.DialContext(ctx, "tcp", address)
}

// TLS returns the settings for a connection to a host. Roots replaces the client's authorities unless it is nil.
func (c *Client) TLS(host string, roots *x509.CertPool) *tls.Config {
	if roots == nil {
		roots = c.opts.RootCAs
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host}
}

// CheckHost lists the rules that a host's text breaks, under pointer. local reports whether the options allow the host even if it is not
// public, and with it a connection without TLS.
func (c *Client) CheckHost(pointer, host string) (local bool, problems []fault.FieldError) {
	local, detail := c.hostProblem(host)
	if detail != "" {
		problems = []fault.FieldError{{Pointer: pointer, Detail: detail}}
	}
	return local, problems
}

// Permitted asks the context's permit about the host of a URL to which no request goes, but in whose place another host is asked.
func Permitted(ctx context.Context, origin string) error {
	u, err := url.Parse(origin)
	if err != nil {
		return err
	}
	return permitted(ctx, u)
}

// allowed returns why the context of a request forbids the way to a URL.
func allowed(ctx context.Context, u *url.URL) error {
	if err := checkOrigin(ctx, u); err != nil {
		return err
	}
	return permitted(ctx, u)
}

func permitted(ctx context.Context, u *url.URL) error {
	if permit, ok := ctx.Value(permitKey{}).(Permit); ok {
		return permit(ctx, u.Hostname())
	}
	return nil
}
