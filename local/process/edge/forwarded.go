package edge

import (
	"net/netip"
	"strings"
)

// hops returns the address of each hop that the lines of a header list, from the client on. An invalid address stands for a hop
// that cannot be read. ok reports that the header lists anything.
func hops(lines []string, addr func(element string) (netip.Addr, bool)) (all []netip.Addr, ok bool) {
	for _, line := range lines {
		elements, good := split(line, ',')
		if !good { // an open quote may hide where a proxy's own element begins
			all = append(all, netip.Addr{})
			continue
		}
		for _, element := range elements {
			if element = strings.Trim(element, " \t"); element == "" { // RFC 9110 §5.6.1.2
				continue
			}
			a, _ := addr(element)
			all = append(all, a)
		}
	}
	return all, len(all) > 0
}

// split cuts a text at a separator outside of quoted strings. ok is false if a quoted string does not end.
func split(text string, separator byte) (parts []string, ok bool) {
	from, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:]), !quoted
}

// elementAddr returns the address of the for parameter of a forwarded-element (RFC 7239 §4), which has at most one.
func elementAddr(element string) (node netip.Addr, ok bool) {
	pairs, _ := split(element, ';')
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found || !strings.EqualFold(strings.Trim(name, " \t"), "for") {
			continue
		}
		if ok { // two parameters of one name
			return netip.Addr{}, false
		}
		if value, ok = unquote(strings.Trim(value, " \t")); ok {
			node, ok = nodeAddr(value)
		}
		if !ok {
			return netip.Addr{}, false
		}
	}
	return node, ok
}

// unquote returns the text of a token or a quoted-string.
func unquote(value string) (string, bool) {
	if !strings.HasPrefix(value, `"`) {
		return value, !strings.Contains(value, `"`)
	}
	var text strings.Builder
	for i := 1; i < len(value); i++ {
		switch value[i] {
		case '"':
			return text.String(), i == len(value)-1
		case '\\':
			if i++; i == len(value) {
				return "", false
			}
		}
		text.WriteByte(value[i])
	}
	return "", false
}

// nodeAddr returns the address of a node: an IPv4 address or an IPv6 address, in brackets or not, with a port or without. An
// obfuscated identifier and unknown have none.
func nodeAddr(node string) (netip.Addr, bool) {
	if inner, rest, found := strings.Cut(node, "]"); found && strings.HasPrefix(inner, "[") {
		a, err := netip.ParseAddr(inner[1:])
		if err != nil || !a.Is6() || rest != "" && !isPort(strings.TrimPrefix(rest, ":")) || rest != "" && rest[0] != ':' {
			return netip.Addr{}, false
		}
		return plain(a), true
	}
	if host, port, found := strings.Cut(node, ":"); found && isPort(port) {
		node = host
	}
	a, err := netip.ParseAddr(node)
	if err != nil {
		return netip.Addr{}, false
	}
	return plain(a), true
}

// isPort reports whether a text is a port or an obfuscated one (RFC 7239 §6).
func isPort(text string) bool {
	digits := strings.Trim(text, "0123456789") == "" && len(text) <= 5
	return text != "" && (digits || text[0] == '_')
}

// plain returns an address as every part of the service compares it.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// parseAddr returns the address of a connection, with a port or without.
func parseAddr(text string) (netip.Addr, bool) {
	if port, err := netip.ParseAddrPort(text); err == nil {
		return plain(port.Addr()), true
	}
	a, err := netip.ParseAddr(text)
	return plain(a), err == nil
}
