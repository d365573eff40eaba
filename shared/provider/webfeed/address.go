package webfeed

import (
	"encoding/xml"
	"net/url"
	"strings"
)

// Limits of the addresses that are resolved, in bytes. A memory keeps no longer address than maxURL.
const (
	maxURL  = 2048
	maxBase = 512
)

// base returns the address that links in an element are relative to: its xml:base, or that of the element around it (RFC 3986 §5.1).
// The outermost one is the feed's own address.
func base(outer *url.URL, start xml.StartElement) *url.URL {
	for _, a := range start.Attr {
		if a.Name.Local != "base" || a.Name.Space != "xml" || len(a.Value) > maxBase {
			continue
		}
		inner, err := url.Parse(strings.TrimSpace(a.Value))
		if err != nil {
			return outer
		}
		if outer != nil {
			inner = outer.ResolveReference(inner)
		}
		if len(inner.Path) <= maxBase {
			return inner
		}
	}
	return outer
}

// resolve returns an address in relation to a base (RFC 3986 §5.2). An unreadable address stays as it is.
func resolve(base *url.URL, address string) string {
	if base == nil || address == "" || len(address) > maxURL {
		return address
	}
	relative, err := url.Parse(address)
	if err != nil || relative.IsAbs() {
		return address
	}
	return base.ResolveReference(relative).String()
}

// isWeb reports whether a text is the absolute address of a web page.
func isWeb(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
