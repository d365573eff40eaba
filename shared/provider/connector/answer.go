package connector

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
)

// ErrNotListed reports that the provider answered with something that is not the list, such as an error, a web page or a part
// of it. Such an answer proves nothing about the items.
var ErrNotListed = errors.New("the provider's answer is not the list")

// ErrEndless reports that the pages of a list repeat. A retry cannot help.
var ErrEndless = errors.New("the list does not end")

// Limits of what an error quotes of an answer, in bytes.
const (
	maxLooked = 4 << 10
	maxQuoted = 80
)

// NotListed returns the error for an answer that is not the list. It says what was seen: the status, the type and the first
// words of the body. remedy says what to do. The words leave out the credentials, because a server may send back what it was
// sent.
func NotListed(list string, resp *http.Response, body []byte, credentials map[string]string, remedy string) error {
	seen := fmt.Sprintf("%s answers %d %s", list, resp.StatusCode, http.StatusText(resp.StatusCode))
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind = words([]byte(kind), credentials); kind != "" && len(body) > 0 {
		seen += " with " + kind
	}
	if said := words(body, credentials); said != "" {
		seen += ", which begins " + strconv.Quote(said)
	}
	return fault.Wrap(fault.Unavailable, seen+"; "+remedy, ErrNotListed)
}

// Status returns the error for an answer whose status says that it has no list, or nil for a 200, and for a 304 if the request
// asked whether the list has changed.
func Status(list string, resp *http.Response, asked bool) error {
	var remedy string
	switch s := resp.StatusCode; {
	case s == http.StatusOK, s == http.StatusNotModified && asked:
		return nil
	case s == http.StatusNotModified:
		remedy = "the request did not ask whether the list has changed, so nothing is known of the items; check the caches between here and the provider"
	case s == http.StatusPartialContent:
		remedy = "that is a part of the list, and the request asked for all of it; check the proxies between here and the provider"
	case s < 300:
		remedy = "an empty list is 200 with []; check the address"
	case s < 400:
		remedy = redirected(resp)
	case s == http.StatusNotFound:
		remedy = "check the address, and that the credentials may read it"
	case s == http.StatusGone:
		remedy = "the provider has removed it for good; configure another address, or delete the integration"
	case s < 500:
		remedy = "check the address and the credentials"
	default:
		return fault.Newf(fault.Unavailable, "%s answers %d %s; the provider has to fix that", list, s, http.StatusText(s))
	}
	return NotListed(list, resp, nil, nil, remedy)
}

// redirected says where a redirect leads, without the query, which may repeat a secret.
func redirected(resp *http.Response) string {
	target := Target(resp)
	if target == nil {
		return "it redirects, and does not say where to; check the address"
	}
	shown := url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}
	return "it redirects to " + shown.String() + ", and redirects are not followed; if that is the list, configure its address, and if it is a sign-in, check the credentials"
}

// Target returns where a redirect leads, or nil if the answer does not say it in an address of at most 4,096 bytes.
func Target(resp *http.Response) *url.URL {
	location := resp.Header.Get("Location")
	if location == "" || len(location) > maxAddress || !utf8.ValidString(location) {
		return nil
	}
	target, err := url.Parse(location)
	if err != nil {
		return nil
	}
	if resp.Request != nil {
		target = resp.Request.URL.ResolveReference(target)
	}
	return target
}

// Page removes the byte order mark in front of a JSON document (RFC 8259 §8.1).
func Page(document []byte) []byte { return bytes.TrimPrefix(document, []byte("\xEF\xBB\xBF")) }

// Hide puts … in place of credentials, also where a server repeats them as they were sent: escaped in an address, or as the pair of Basic.
func Hide(said string, credentials map[string]string) string {
	for _, value := range credentials {
		said = strings.ReplaceAll(said, value, "…")
		said = strings.ReplaceAll(said, url.QueryEscape(value), "…")
	}
	if user, password := credentials["username"], credentials["password"]; user != "" {
		said = strings.ReplaceAll(said, base64.StdEncoding.EncodeToString([]byte(user+":"+password)), "…")
	}
	return said
}

// words returns the first words of an answer's body, without markup, credentials and text that looks like a token.
func words(body []byte, credentials map[string]string) string {
	markup := regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<[^>]*>`)
	token := regexp.MustCompile(`[A-Za-z0-9+/_=.~-]{20,}`)
	said := string(body[:min(len(body), maxLooked)])
	if page := strings.TrimSpace(said); strings.HasPrefix(page, "<") {
		said = markup.ReplaceAllString(page, " ")
	}
	said = Hide(said, credentials)
	said = token.ReplaceAllString(said, "…")
	said = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(said, " "))
	said = strings.Join(strings.Fields(said), " ")
	if cut := text.Truncate(said, maxQuoted); cut != said {
		return cut + "…"
	}
	return said
}
