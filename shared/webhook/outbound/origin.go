package outbound

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// Origin returns the scheme, host and port of a URL, such as https://example.com:443, so that two URLs of one server have the same
// origin (RFC 6454 §4, RFC 3986 §6.2). It is "" for a text that is no URL with a host.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return originOf(u)
}

func originOf(u *url.URL) string {
	host := strings.TrimRight(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.Unmap().String()
	}
	port := strings.TrimLeft(u.Port(), "0")
	scheme := strings.ToLower(u.Scheme)
	switch {
	case host == "":
		return ""
	case port == "" && scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return scheme + "://" + host + ":" + port
}

// ErrOrigin reports a request that was not sent, because it leads away from the origin that WithOrigin names.
var ErrOrigin = errors.New("the address leads to another host, and the stored credentials must not go there")

type originKey struct{}

// WithOrigin returns a context under which every client sends requests to one origin only. Use it for requests that carry a
// company's credentials: no link, cursor or configuration that has changed meanwhile leads them elsewhere.
func WithOrigin(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// checkOrigin refuses a request to another origin than the one of its context.
func checkOrigin(ctx context.Context, u *url.URL) error {
	if origin, ok := ctx.Value(originKey{}).(string); ok && originOf(u) != origin {
		return ErrOrigin
	}
	return nil
}
