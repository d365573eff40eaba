package web

import (
	"net/http"
	"strings"

	"orgops/shared/base/fault"
)

// IfNoneMatch reads the If-None-Match header. Embed it in the input of a route whose answer has an ETag.
type IfNoneMatch struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETags that the caller holds; 304 if one is current"`
}

// IfMatch reads the If-Match header. Embed it in the input of a write that needs the version it is based on.
type IfMatch struct {
	IfMatch string `header:"If-Match" doc:"The ETag that the change is based on; 428 if it is missing, 412 if it is no longer current"`
}

// Tagged holds an answer with an ETag. A client may cache it but must revalidate it each time.
type Tagged[T any] struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         *T
}

const revalidate = "private, no-cache"

// Matches reports whether the caller already holds etag. If so, answer NotModified and do not make the body.
func (in IfNoneMatch) Matches(etag string) bool { return listed(in.IfNoneMatch, etag, true) }

// NotModified makes a 304 with etag.
func NotModified[T any](etag string) *Tagged[T] {
	return &Tagged[T]{Status: http.StatusNotModified, ETag: etag, CacheControl: revalidate}
}

// WithETag makes a 200 with etag.
func WithETag[T any](etag string, body T) *Tagged[T] {
	return &Tagged[T]{Status: http.StatusOK, ETag: etag, CacheControl: revalidate, Body: &body}
}

// TaggedPage holds a Tagged answer of a listing, with the Link header of RFC 8288. It repeats the fields of Tagged because
// huma does not find a status and a body in an embedded struct.
type TaggedPage[T any] struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Link         string `header:"Link" doc:"rel=\"next\" if there is a next page"`
	Body         *T
}

// WithLink returns the answer of a listing. link comes from the PageOutput; it is "" if there is no next page or no page.
func (t *Tagged[T]) WithLink(link string) *TaggedPage[T] {
	return &TaggedPage[T]{Status: t.Status, ETag: t.ETag, CacheControl: t.CacheControl, Link: link, Body: t.Body}
}

// ETag makes an entity tag (RFC 9110 §8.8.3) of text that holds no quote.
func ETag(text string) string { return `"` + text + `"` }

// Check returns nil if the caller's change is based on etag. Without If-Match it returns PreconditionRequired, and with
// another tag Stale.
func (in IfMatch) Check(etag string) error {
	if strings.TrimSpace(in.IfMatch) == "" {
		return fault.New(fault.PreconditionRequired, "send If-Match with the ETag of what you read")
	}
	if !listed(in.IfMatch, etag, false) {
		return fault.New(fault.Stale, "this changed since you read it; read it again and retry with its new ETag")
	}
	return nil
}

// listed reports whether a list of entity tags, or "*", contains etag. Weak comparison ignores W/; strong comparison never
// matches a weak tag (RFC 9110 §8.8.3.2).
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
