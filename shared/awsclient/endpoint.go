package awsclient

import (
	"net/netip"
	"net/url"
	"strings"
)

// AtAWS reports whether calls of a service, named as for Endpoint, go to AWS itself and not to an emulator.
func (a Access) AtAWS(names ...string) bool {
	host := a.host(names)
	for _, domain := range []string{"amazonaws.com", "amazonaws.com.cn", "api.aws", "api.amazonwebservices.com.cn"} {
		if host == "" || host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// OnLoopback reports whether calls of a service stay on this machine.
func (a Access) OnLoopback(names ...string) bool {
	host := a.host(names)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// host is that of the endpoint that the environment gives; "" is AWS's own.
func (a Access) host(names []string) string {
	e := a.Endpoint(names...)
	if e == nil {
		return ""
	}
	u, err := url.Parse(*e)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
