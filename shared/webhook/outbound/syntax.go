package outbound

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The characters of a URL beyond letters, digits and percent signs (RFC 3986 §2). Many servers document brackets in a query,
// as in page[size]=100, although the RFC reserves them for addresses. The client sends them percent-encoded.
const marks = "-._~:/?#@!$&'()*+,;=[]"

const notDomain = "the host is not a domain name"

// syntaxProblem says which character of a URL's text is not allowed and what to write instead, or returns "". It names the place and
// not the text, which may hold a secret.
func syntaxProblem(raw string) string {
	if raw != strings.TrimSpace(raw) {
		return "begins or ends with white space; remove it"
	}
	host := hostEnd(raw)
	for i := range len(raw) {
		if isURL(raw[i]) && (raw[i] != '%' || isEscape(raw[i:])) {
			continue
		}
		at := fmt.Sprintf("at byte %d", i+1)
		switch b := raw[i]; {
		case i < host && b >= 0x80:
			return "write an international domain name in its ASCII form (xn--…)"
		case i < host && b != '%':
			return notDomain
		case b == ' ':
			return "has a space " + at + "; write %20"
		case b == '\\':
			return "has a backslash " + at + "; write / between the parts of a path, or %5C"
		case b == '%':
			return "has a % " + at + " without two hexadecimal digits; write %25 for a percent sign"
		case b < ' ', b == 0x7F:
			return "has a control character " + at + "; remove it"
		case b >= 0x80:
			return "has a letter beyond ASCII " + at + "; write its UTF-8 percent-encoded, such as %C3%A9"
		default:
			return fmt.Sprintf("has a character %s that a url must not have; write %%%02X", at, b)
		}
	}
	return ""
}

// hostEnd returns where the part with the host ends.
func hostEnd(raw string) int {
	_, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return 0
	}
	if n := strings.IndexAny(rest, "/?#"); n >= 0 {
		return len(raw) - len(rest) + n
	}
	return len(raw)
}

func isURL(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '%' || strings.IndexByte(marks, b) >= 0
}

func isEscape(s string) bool { return len(s) >= 3 && isHex(s[1]) && isHex(s[2]) }

func isHex(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' }

// sendable returns a request whose target may stand in a request line (RFC 9112 §3.2). net/http sends a query as it is, and brackets
// in a path; a link of a provider may have spaces in it, or letters beyond ASCII. Their percent-encoded form means the same.
func sendable(req *http.Request) *http.Request {
	path := req.URL.EscapedPath()
	sentPath, sentQuery := encode(path), encode(req.URL.RawQuery)
	if sentPath == path && sentQuery == req.URL.RawQuery {
		return req
	}
	target := *req.URL
	target.RawQuery = sentQuery
	if sentPath != path {
		target.RawPath = sentPath
	}
	sent := *req
	sent.URL = &target
	return &sent
}

// encode percent-encodes what a path or query must not have.
func encode(text string) string {
	var out strings.Builder
	done := 0
	for i := range len(text) {
		if !isURL(text[i]) || strings.IndexByte("#[]", text[i]) >= 0 || text[i] == '%' && !isEscape(text[i:]) {
			fmt.Fprintf(&out, "%s%%%02X", text[done:i], text[i])
			done = i + 1
		}
	}
	if done == 0 {
		return text
	}
	return out.String() + text[done:]
}

// parse reads a URL whose text is in order. ok is false for a URL that is not absolute, or has no host.
func parse(raw string) (u *url.URL, ok bool) {
	u, err := url.Parse(raw)
	return u, err == nil && u.Opaque == "" && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
