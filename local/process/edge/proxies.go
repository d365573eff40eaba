// Package edge bounds what strangers may take of a process that serves HTTP itself: it finds out which address a request comes
// from, and shares connections and the bytes of bodies among the addresses and companies.
package edge

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Proxies lists the networks of the proxies in front of the process whose headers count.
type Proxies []netip.Prefix

// trusts reports whether an address is a trusted proxy's.
func (p Proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// Client returns the address that a request comes from, given the address of its connection. The headers of an untrusted
// connection do not count.
//
// Each proxy appends the address that it was called from. So Client goes from the last hop to the first, and returns the first
// address that is no trusted proxy's. At a hop without a readable address, such as unknown or _hidden, it stops at the proxy that
// wrote it. What stands further to the left may be the client's own invention.
//
// If a request has both Forwarded and X-Forwarded-For, and they name different clients, a proxy has passed one of them on as the
// client wrote it. Client then returns the connection's address.
func (p Proxies) Client(peer netip.Addr, h http.Header) netip.Addr {
	if !p.trusts(peer) {
		return peer
	}
	forwarded, standard := hops(h["Forwarded"], elementAddr)
	listed, common := hops(h["X-Forwarded-For"], nodeAddr)
	switch {
	case standard && common:
		a, b := p.walk(peer, forwarded), p.walk(peer, listed)
		if a != b {
			return peer
		}
		return a
	case standard:
		return p.walk(peer, forwarded)
	}
	return p.walk(peer, listed)
}

// walk returns the last hop that is no trusted proxy. An invalid address stands for an unreadable hop.
func (p Proxies) walk(peer netip.Addr, hops []netip.Addr) netip.Addr {
	source := peer
	for _, hop := range slices.Backward(hops) {
		if !hop.IsValid() {
			return source
		}
		if source = hop; !p.trusts(hop) {
			return source
		}
	}
	return source
}

// Handler gives h each request with the address that it comes from as RemoteAddr. Without trusted proxies, it warns once of a
// request that seems to come through a proxy on this machine: then all clients count as one.
func (p Proxies) Handler(h http.Handler, logger *slog.Logger) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["X-Forwarded-For"] == nil && r.Header["Forwarded"] == nil { // the usual case: no proxy tells of a client
			h.ServeHTTP(w, r)
			return
		}
		peer, ok := parseAddr(r.RemoteAddr)
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		if len(p) == 0 && peer.IsLoopback() {
			once.Do(func() {
				logger.Warn("a proxy on this machine forwards requests, and all of its clients count as one: set ORGOPS_TRUSTED_PROXIES to its address", "proxy", peer)
			})
		}
		if client := p.Client(peer, r.Header); client != peer {
			r.RemoteAddr = client.String()
		}
		h.ServeHTTP(w, r)
	})
}
