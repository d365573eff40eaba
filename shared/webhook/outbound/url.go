package outbound

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"orgops/shared/base/fault"
)

// MaxURL limits a URL, in bytes.
const MaxURL = 2048

// CheckURL lists the rules that a URL's text breaks, each under pointer. The client checks the address behind a name only
// when it dials. No problem quotes the URL, because its path or query may be a secret.
//
// A URL must be valid in every character (RFC 3986), because it is sent as it is. It must be absolute and https (http only to a loopback or an allowed address, see Options), with a host and without
// user information or fragment. An address must be public and in the usual form: 0x7f.1 and 2130706433 are refused.
func (c *Client) CheckURL(pointer, raw string) []fault.FieldError {
	var problems []fault.FieldError
	refuse := func(format string, args ...any) {
		problems = append(problems, fault.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if len(raw) > MaxURL {
		refuse("a url has at most %d bytes", MaxURL)
		return problems
	}
	if detail := syntaxProblem(raw); detail != "" {
		refuse("%s", detail)
		return problems
	}
	u, ok := parse(raw)
	if !ok {
		refuse("must be an absolute http or https url with a host, such as https://example.com/hooks")
		return problems
	}
	if u.User != nil {
		refuse("a url must not carry a user name or password")
	}
	if u.Fragment != "" || strings.HasSuffix(raw, "#") {
		refuse("a url must not have a fragment")
	}
	if detail := portProblem(u); detail != "" {
		refuse("%s", detail)
	}
	local, detail := c.hostProblem(u.Hostname())
	if detail != "" {
		refuse("%s", detail)
	} else if u.Scheme == "http" && !local {
		refuse("must be https")
	}
	return problems
}

// CheckBase lists what CheckURL does, and refuses a query. Use it for a URL to which the service appends a path.
func (c *Client) CheckBase(pointer, raw string) []fault.FieldError {
	problems := c.CheckURL(pointer, raw)
	if strings.Contains(raw, "?") {
		problems = append(problems, fault.FieldError{Pointer: pointer, Detail: "must not have a query"})
	}
	return problems
}

func portProblem(u *url.URL) string {
	if strings.HasSuffix(u.Host, ":") {
		return "the port after the colon is missing"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return "the port must be a number from 1 to 65535"
		}
	}
	return ""
}

// hostProblem says what is wrong with a host, or returns "". local reports whether the options allow the host even if it is
// not public.
func (c *Client) hostProblem(host string) (local bool, detail string) {
	if a, err := netip.ParseAddr(host); err == nil {
		return c.addressProblem(a)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if detail := nameProblem(host); detail != "" {
		return false, detail
	}
	if a, err := netip.ParseAddr(host); err == nil { // "127.0.0.1."
		return c.addressProblem(a)
	}
	if endsInNumber(host) {
		return false, "an IPv4 address needs four decimal numbers, such as 203.0.113.7"
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		if !c.opts.isLocal(netip.AddrFrom4([4]byte{127, 0, 0, 1})) && !c.opts.isLocal(netip.IPv6Loopback()) {
			return false, "localhost is not public; use a public host"
		}
		return true, ""
	}
	return false, ""
}

func (c *Client) addressProblem(a netip.Addr) (local bool, detail string) {
	if a.Zone() != "" {
		return false, "an address with a zone is not public"
	}
	if !c.allows(a) {
		return false, (&AddressError{}).Error()
	}
	return c.opts.isLocal(a), ""
}

func nameProblem(host string) string {
	if host == "" || len(host) > 253 || strings.Contains(host, "..") || strings.HasPrefix(host, ".") {
		return notDomain
	}
	for label := range strings.SplitSeq(host, ".") {
		if len(label) > 63 {
			return notDomain
		}
	}
	for i := 0; i < len(host); i++ {
		if host[i] >= 0x80 {
			return "write an international domain name in its ASCII form (xn--…)"
		}
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-._", rune(host[i])) {
			return notDomain
		}
	}
	return ""
}

// endsInNumber reports whether a resolver may read a host as an IPv4 address because its last label is a decimal, octal or
// hexadecimal number (WHATWG URL, "ends in a number").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
