package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

// mcpMark is the metadata key of the scopes that MCP was given.
const mcpMark = "orgops-mcp"

// MCP marks the operation that serves a company's MCP endpoint, a Resource. A caller needs one of scopes. What the caller may do is
// decided by the operations that the handler asks for with Call, so the endpoint is open to tokens that are bound to an integration and
// to suspended companies. bases are the service's own addresses, the current one first.
func MCP(op huma.Operation, bases []string, scopes ...string) huma.Operation {
	return Bound(marked(Resource(op, bases...), mcpMark, scopes))
}

// IsMCP reports whether an operation is marked by MCP.
func IsMCP(op *huma.Operation) bool { return op.Metadata[mcpMark] != nil }

// fromHere refuses a request of a web page of another origin, and one for a host name that is not the service's. A page whose name
// leads to an address of the user's own network could otherwise use a service there (DNS rebinding).
func (s *Server) fromHere(r *http.Request) error {
	if !s.isOwnHost(r.Host) {
		return fault.New(fault.Forbidden, "the Host header is not the service's; use the service's own address")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.opts.Origins, origin) {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
		return fault.New(fault.Forbidden, "the Origin header names another web page's origin; ask without a browser, or let the operator allow the origin")
	}
	return nil
}

// isOwnHost reports whether a Host header names the service: the host of one of its addresses, this machine, or any IP address,
// because a name cannot be bound to the user's network with one. Without an address of its own the service accepts every host.
func (s *Server) isOwnHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if _, err := netip.ParseAddr(name); err == nil || strings.EqualFold(name, "localhost") || len(s.opts.Bases) == 0 {
		return true
	}
	return slices.ContainsFunc(s.opts.Bases, func(base string) bool {
		u, err := url.Parse(base)
		return err == nil && (strings.EqualFold(u.Host, host) || strings.EqualFold(u.Hostname(), name))
	})
}
