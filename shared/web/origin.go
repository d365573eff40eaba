package web

import (
	"net/http"
	"slices"
	"strings"
)

// Origins are those of the web pages that may read answers, as browsers write them: https://dashboard.example.com; "*" is
// all of them, and no origin none. A page has to have a token to learn anything: browsers send none by themselves, as they
// send cookies. What the headers mean is in https://fetch.spec.whatwg.org/#http-cors-protocol.
type Origins []string

// AnyOrigin stands for all of them.
const AnyOrigin = "*"

// ExposedHeaders are those of an answer that a page may read beyond the few that it always may.
const ExposedHeaders = "Allow, ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id"

// What a page may send, and for how many seconds a browser need not ask again: Chromium asks after two hours anyway.
const (
	sentHeaders     = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"
	preflightMaxAge = "7200"
)

// Share lets the page that asks read the answer with these headers, if it is of one of the origins.
func (o Origins) Share(h http.Header, origin string) {
	switch {
	case len(o) == 0:
		return
	case slices.Contains(o, AnyOrigin):
		h.Set("Access-Control-Allow-Origin", AnyOrigin)
	default:
		if h.Add("Vary", "Origin"); !slices.Contains(o, origin) {
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
	}
	h.Set("Access-Control-Expose-Headers", ExposedHeaders)
}

// options answers what a path takes, and a browser that asks before it lets a page send what no form could.
func options(w http.ResponseWriter, r *http.Request, allowed []string) {
	h := w.Header()
	if h.Get("Access-Control-Allow-Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
		h.Del("Access-Control-Expose-Headers")
		h.Set("Access-Control-Allow-Methods", strings.Join(allowed, ", "))
		h.Set("Access-Control-Allow-Headers", sentHeaders)
		h.Set("Access-Control-Max-Age", preflightMaxAge)
	}
	w.WriteHeader(http.StatusNoContent)
}
