package outbound

import (
	"errors"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// AddressError reports an address that the egress rules refuse, and does not name it: a tenant would learn what a name resolves
// to inside the service's network. A name may resolve to another address later, so a retry may succeed, as after any failure
// to connect.
type AddressError struct{}

func (*AddressError) Error() string { return "the host's address is not public" }

func newGuard(opts Options) *ssrf.Guardian {
	var v4, v6 []netip.Prefix
	if opts.AllowLoopback {
		v4 = append(v4, netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8))
		v6 = append(v6, netip.PrefixFrom(netip.IPv6Loopback(), 128))
	}
	for _, p := range opts.AllowNetworks {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
}

// control checks the resolved address before the dialer opens each connection.
func (c *Client) control(network, address string, conn syscall.RawConn) error {
	err := c.guard.Safe(network, address, conn)
	if !errors.Is(err, ssrf.ErrProhibitedIP) {
		return err
	}
	return &AddressError{}
}

// allows reports whether the rules permit a connection to a literal address.
func (c *Client) allows(a netip.Addr) bool { return c.guard.SafeAddr(a.Unmap()) == nil }

// isLocal reports whether the options allow a literal address even if it is not public.
func (o Options) isLocal(a netip.Addr) bool {
	a = a.Unmap()
	if o.AllowLoopback && a.IsLoopback() {
		return true
	}
	for _, p := range o.AllowNetworks {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
