package connector

import (
	"net/http"
	"net/url"
	"strings"
)

// NextOnHost returns the address of the next page by NextLink, or "" without a next page. base is the address that the link may
// be relative to. ok is false if the link leads to another scheme or host, or names a user: a connector must not follow it,
// because the credentials would go along.
func NextOnHost(base *url.URL, header http.Header) (address string, ok bool) {
	target := NextLink(header)
	if target == "" {
		return "", true
	}
	next, err := base.Parse(target)
	if err != nil || next.Scheme != base.Scheme || next.Host != base.Host || next.User != nil {
		return "", false
	}
	return next.String(), true
}

// NextLink returns the target of the first link with the relation "next" in the Link header (RFC 8288), or "". The target
// may be relative to the answer's address.
func NextLink(header http.Header) string {
	for _, line := range header.Values("Link") {
		for line != "" {
			_, rest, ok := strings.Cut(line, "<")
			if !ok {
				break
			}
			target, parameters, ok := strings.Cut(rest, ">")
			if !ok {
				break
			}
			parameters, line = cut(parameters, ',')
			if isNext(parameters) {
				return strings.TrimSpace(target)
			}
		}
	}
	return ""
}

// cut splits s at the first sep outside of a quoted string.
func cut(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// isNext reports whether the first "rel" of a link's parameters lists the relation "next".
func isNext(parameters string) bool {
	for parameters != "" {
		var parameter string
		parameter, parameters = cut(parameters, ';')
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for relation := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(relation, "next") {
				return true
			}
		}
		return false
	}
	return false
}
