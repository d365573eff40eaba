package awsclient

import (
	"net/netip"
	"net/url"
	"strings"
)

// AtAWS reports whether calls of a service go to AWS, not to an emulator. The names are those of BaseEndpoint.
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

// host returns the host of the endpoint in the environment, or "" for AWS's endpoint.
func (a Access) host(names []string) string {
	e := a.BaseEndpoint(names...)
	if e == nil {
		return ""
	}
	u, err := url.Parse(*e)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
