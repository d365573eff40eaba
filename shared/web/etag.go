package web

import (
	"net/http"
	"strings"

	"orgops/shared/fault"
)

// IfNoneMatch is embedded in the input of a route whose answer has an ETag.
type IfNoneMatch struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETags the caller holds; 304 where one is current"`
}

// IfMatch is embedded in the input of a write that needs the version it is based on.
type IfMatch struct {
	IfMatch string `header:"If-Match" doc:"The ETag the change is based on; 428 without, 412 where it is not current"`
}

// Tagged is an answer with an ETag. A client may keep it but must ask each time.
type Tagged[T any] struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         *T
}

const revalidate = "private, no-cache"

// Matches reports whether the caller holds etag already: then the answer is NotModified, and its body need not be made.
func (in IfNoneMatch) Matches(etag string) bool { return listed(in.IfNoneMatch, etag, true) }

// NotModified is the 304 of etag.
func NotModified[T any](etag string) *Tagged[T] {
	return &Tagged[T]{Status: http.StatusNotModified, ETag: etag, CacheControl: revalidate}
}

// WithETag is a 200 with its etag.
func WithETag[T any](etag string, body T) *Tagged[T] {
	return &Tagged[T]{Status: http.StatusOK, ETag: etag, CacheControl: revalidate, Body: &body}
}

// ETag makes an entity tag (RFC 9110 §8.8.3) of text that holds no quote.
func ETag(text string) string { return `"` + text + `"` }

// Check is nil when the caller's change is based on etag: PreconditionRequired without If-Match, Stale with another.
func (in IfMatch) Check(etag string) error {
	if strings.TrimSpace(in.IfMatch) == "" {
		return fault.New(fault.PreconditionRequired, "send If-Match with the ETag of what you read")
	}
	if !listed(in.IfMatch, etag, false) {
		return fault.New(fault.Stale, "someone changed this since you read it; read it again and repeat")
	}
	return nil
}

// listed looks for etag in a list of entity tags, or "*". Weak comparison ignores W/, strong comparison never matches
// a weak tag (RFC 9110 §8.8.3.2).
func listed(header, etag string, weak bool) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	if weak {
		etag = strings.TrimPrefix(etag, "W/")
	}
	for len(header) > 0 {
		header = strings.TrimLeft(header, " \t,")
		w := strings.HasPrefix(header, "W/")
		header = strings.TrimPrefix(header, "W/")
		if !strings.HasPrefix(header, `"`) {
			return false
		}
		end := strings.IndexByte(header[1:], '"')
		if end < 0 {
			return false
		}
		if header[:end+2] == etag && (weak || !w) {
			return true
		}
		header = header[end+2:]
	}
	return false
}
