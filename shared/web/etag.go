package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// IfNoneMatch reads the If-None-Match header. Embed it in the input of a route whose answer has an ETag.
type IfNoneMatch struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETags that the caller holds; 304 if one is current"`
}

// IfMatch reads the If-Match header (RFC 9110 §13.1.1). Embed it in the input of a write that a caller may limit to the
// version that it has read.
type IfMatch struct {
	IfMatch string `header:"If-Match" maxLength:"2048" doc:"The ETag of the version that the change is based on; 412 if the resource has changed since. Without it, the change applies to the current version" example:"\"7-19c5f27c1e7.41.492178.certified\""`
}

// Tagged holds an answer with an ETag. A client may cache it but must revalidate it each time.
type Tagged[T any] struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         *T
}

const revalidate = "private, no-cache"

// Matches reports whether the caller already holds etag. The comparison is weak (RFC 9110 §8.8.3.2).
func (in IfNoneMatch) Matches(etag string) bool {
	held := strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	return listed(in.IfNoneMatch, func(tag string, _ bool) bool { return tag == held })
}

// Respond answers 304 if the caller holds etag. Otherwise it makes the body with f and answers 200.
func Respond[T any](in IfNoneMatch, etag string, f func() (T, error)) (*Tagged[T], error) {
	if in.Matches(etag) {
		return &Tagged[T]{Status: http.StatusNotModified, ETag: etag, CacheControl: revalidate}, nil
	}
	body, err := f()
	if err != nil {
		return nil, err
	}
	return &Tagged[T]{Status: http.StatusOK, ETag: etag, CacheControl: revalidate, Body: &body}, nil
}

// Ready returns body to Respond, for a body that the handler has already made.
func Ready[T any](body T) func() (T, error) { return func() (T, error) { return body, nil } }

// RespondContent answers like Respond, with the ETag of the body's content.
func RespondContent[T any](in IfNoneMatch, body T) (*Tagged[T], error) {
	etag, err := ETagOf(body)
	if err != nil {
		return nil, err
	}
	return Respond(in, etag, Ready(body))
}

// RespondPage answers like RespondContent, with the Link header of a listing. link comes from the PageOutput; it is "" if
// there is no next page.
func RespondPage[T any](in IfNoneMatch, body T, link string) (*TaggedPage[T], error) {
	t, err := RespondContent(in, body)
	if err != nil {
		return nil, err
	}
	if t.Body == nil {
		link = ""
	}
	return &TaggedPage[T]{Status: t.Status, ETag: t.ETag, CacheControl: t.CacheControl, Link: link, Body: t.Body}, nil
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

// ETag makes an entity tag (RFC 9110 §8.8.3) of text that holds no quote.
func ETag(text string) string { return `"` + text + `"` }

// ETagOf makes the entity tag of a body from its content. It suits an answer that follows from more than one item.
func ETagOf(body any) (string, error) {
	digest, err := digestOf(body)
	return ETag(digest), err
}

// ETagAt makes the entity tag of a version from its content. It suits an answer whose content also changes without an edit.
func ETagAt(version string, body any) (string, error) {
	digest, err := digestOf(body)
	return ETag(version + "." + digest), err
}

func digestOf(body any) (string, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:18]), nil
}

// Check returns nil if the caller's change may be made to a resource of the version: there is no If-Match, it is "*", or it
// lists an ETag of the version. Otherwise Check returns Stale. The version of a resource that does not exist is "", which
// meets no If-Match.
//
// An ETag belongs to a version if it equals the version, or begins with the version and a dot. The part after the dot
// stands for values that change without an edit, such as the resource's health. Check ignores it, so that such a change
// does not refuse an edit.
func (in IfMatch) Check(version string) error {
	if strings.TrimSpace(in.IfMatch) == "" {
		return nil
	}
	strong := func(tag string, weak bool) bool { return !weak && belongs(tag, version) }
	if version != "" && listed(in.IfMatch, strong) {
		return nil
	}
	return stale(version)
}

// Overtaken returns the error of a failed commit. If the caller named a version and another write came between the check and
// the commit, it returns Stale, as Check would have.
func (in IfMatch) Overtaken(err error) error {
	if in.IfMatch != "" && errors.Is(err, store.ErrConflict) {
		return stale("")
	}
	return err
}

func stale(version string) error {
	f := fault.New(fault.Stale, "the resource changed since you read it; read it again and retry with its new ETag")
	f.Current = currentTag(version)
	return f
}

func currentTag(version string) string {
	if version == "" {
		return ""
	}
	return ETag(version)
}

// belongs reports whether the text of an ETag belongs to a version, as Check explains.
func belongs(tag, version string) bool {
	named, _, _ := strings.Cut(tag, ".")
	return named == version
}

// Creation reads If-Match and If-None-Match (RFC 9110 §13.1). Embed it in the input of a write that creates a resource or
// replaces it.
type Creation struct {
	IfMatch
	IfNoneMatch string `header:"If-None-Match" maxLength:"2048" doc:"*: create only; 412 if the resource exists, and nothing is replaced" example:"*"`
}

// Check returns nil if the write may be made to a resource of the version. A version of "" means that there is no resource.
func (in Creation) Check(version string) error {
	if err := in.IfMatch.Check(version); err != nil || version == "" {
		return err
	}
	if listed(in.IfNoneMatch, func(tag string, _ bool) bool { return belongs(tag, version) }) {
		return exists(version)
	}
	return nil
}

// Overtaken returns the error of a failed commit: Exists or Stale if another write came between the check and the commit, as
// Check would have.
func (in Creation) Overtaken(err error) error {
	if in.IfNoneMatch != "" && errors.Is(err, store.ErrConflict) {
		return exists("")
	}
	return in.IfMatch.Overtaken(err)
}

func exists(version string) error {
	f := fault.New(fault.Exists, "there is one already, and nothing was replaced; choose another name, or send the ETag of what exists as If-Match to replace it")
	f.Current = currentTag(version)
	return f
}

// listed reports whether a list of entity tags is "*", or has a tag that matches. matches gets the text between the quotes,
// and whether the tag is weak (RFC 9110 §8.8.3).
func listed(header string, matches func(tag string, weak bool) bool) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for len(header) > 0 {
		header = strings.TrimLeft(header, " \t,")
		rest, weak := strings.CutPrefix(header, "W/")
		rest, quoted := strings.CutPrefix(rest, `"`)
		tag, rest, closed := strings.Cut(rest, `"`)
		if !quoted || !closed {
			return false
		}
		if matches(tag, weak) {
			return true
		}
		header = rest
	}
	return false
}
