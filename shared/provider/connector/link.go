package connector

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/webhook/outbound"
)

// NextOnHost returns the address of the next page by NextLink and OnHost, or "" without a next page. base is the address that the
// link may be relative to. It returns a fault if the Link header cannot be read: the list would look complete, and a full run would
// remove the rest.
func NextOnHost(base *url.URL, header http.Header) (address string, err error) {
	target, ok := NextLink(header)
	switch {
	case !ok:
		return "", fault.New(fault.Unavailable, "the page's Link header cannot be read, so the next page is unknown")
	case target == "":
		return "", nil
	}
	return OnHost(base, target)
}

// OnHost returns the address of a next page to which a target leads, relative to base. It is without a fragment, which the server does
// not see: two addresses that differ in it are the same page. OnHost returns a fault for a target that a checkpoint could not keep,
// and for a link that leads to another scheme or host, or names a user: a connector must not follow it, because the credentials
// would go along.
func OnHost(base *url.URL, target string) (address string, err error) {
	if len(target) > maxAddress || !utf8.ValidString(target) {
		return "", fault.New(fault.Unavailable, "the next page's link is longer than 4,096 bytes, or not in UTF-8")
	}
	next, err := base.Parse(target)
	if err != nil {
		return "", fault.New(fault.Unavailable, "the next page's link is no url; the provider has to fix that")
	}
	if next.User != nil || outbound.Origin(next.String()) != outbound.Origin(base.String()) {
		return "", fault.New(fault.Unavailable, "the next page's link leads to another host; it is not followed")
	}
	next.Fragment, next.RawFragment = "", ""
	return next.String(), nil
}

// NextLink returns the target of the first link with the relation "next" in the Link header (RFC 8288), or "". The target
// may be relative to the answer's address. ok is false if there is no such link and a part of the header is not a link, and if the link has no target.
func NextLink(header http.Header) (target string, ok bool) {
	ok = true
	for _, line := range header.Values("Link") {
		for line = strings.TrimLeft(line, " \t,"); line != ""; line = strings.TrimLeft(line, " \t,") {
			target, parameters, closed := strings.Cut(line, ">")
			if !closed || !strings.HasPrefix(target, "<") {
				ok = false
				break
			}
			parameters, line = cut(parameters, ',')
			if isNext(parameters) {
				target = strings.TrimSpace(target[1:])
				return target, target != ""
			}
		}
	}
	return "", ok
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
