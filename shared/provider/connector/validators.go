package connector

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTag limits an entity tag that is kept, in bytes.
const maxTag = 1024

// Validators holds what makes the next request for a document conditional (RFC 9110 §8.8). Sources keep it in their state, so
// its JSON form is stored.
type Validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
}

// ValidatorsOf returns the validators of an answer. It leaves out an entity tag that Tag refuses, and a Last-Modified that is
// not an HTTP date.
func ValidatorsOf(header http.Header) Validators {
	v := Validators{ETag: Tag(header), LastModified: header.Get("Last-Modified")}
	if _, err := http.ParseTime(v.LastModified); err != nil {
		v.LastModified = ""
	}
	return v
}

// Tag returns the entity tag of an answer, or "" for one above 1,024 bytes or with characters that a source could not keep or send: it
// is kept as text, and a header has no control characters.
func Tag(header http.Header) string {
	tag := header.Get("ETag")
	if len(tag) > maxTag || !utf8.ValidString(tag) || strings.ContainsFunc(tag, unicode.IsControl) {
		return ""
	}
	return tag
}

// Set makes a request conditional.
func (v Validators) Set(header http.Header) {
	if v.ETag != "" {
		header.Set("If-None-Match", v.ETag)
	}
	if v.LastModified != "" {
		header.Set("If-Modified-Since", v.LastModified)
	}
}
