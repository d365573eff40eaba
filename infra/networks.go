package main

import (
	"fmt"
	"net/netip"
	"strings"
)

// sandbox returns the networks in a function's sandbox. Loopback holds the Lambda runtime's own interface, and link-local addresses hold
// credentials, so no tenant's endpoint may be there. An address of only zeros is loopback too.
func sandbox() []netip.Prefix {
	var all []netip.Prefix
	for _, network := range []string{"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/127", "fe80::/10"} {
		all = append(all, netip.MustParsePrefix(network))
	}
	return all
}

// networks reads the networks that deliveries may reach. In the cloud it refuses each that has addresses of the sandbox.
func networks(list string, cloud bool) (string, error) {
	var shown []string
	for _, text := range split(list) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return "", fmt.Errorf("context allowNetworks: %q is not a network such as 10.1.0.0/16", text)
		}
		if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
		}
		for _, inside := range sandbox() {
			if cloud && prefix.Overlaps(inside) {
				return "", fmt.Errorf("context allowNetworks: %s has addresses of %s, where a function reaches its own runtime and credentials; name narrower networks", text, inside)
			}
		}
		shown = append(shown, prefix.Masked().String())
	}
	return strings.Join(shown, ","), nil
}
