package web

import (
	"net/http"
	"slices"
	"strings"
)

// Origins lists the origins of the web pages that may read answers, as browsers write them: https://dashboard.example.com.
// "*" allows every origin, an empty list none. A page still needs a token: browsers send cookies by themselves, but not
// tokens. See https://fetch.spec.whatwg.org/#http-cors-protocol for the headers.
type Origins []string

// AnyOrigin stands for every origin.
const AnyOrigin = "*"

// ExposedHeaders lists the response headers that a page may read in addition to the CORS-safelisted ones.
const ExposedHeaders = "Allow, ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id"

// Headers that a page may send, and the seconds for which a browser may cache a preflight answer (in Chromium at most two
// hours).
const (
	sentHeaders     = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"
	preflightMaxAge = "7200"
)

// Share sets the headers that let a page of origin read the answer, if the origin is allowed.
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

// options answers an OPTIONS request. A browser's preflight gets the methods and headers that a page may send.
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
