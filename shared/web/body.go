package web

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/fault"
)

const (
	// MaxBody is how many bytes a request body may have where an operation does not set its own MaxBodyBytes.
	MaxBody = 1 << 20

	bodyTimeout = 10 * time.Second // a body that has not arrived by then is given up
)

// boundBody gives a body until bodyTimeout to arrive even where nobody reads it: net/http reads on behind a refusal, to
// use the connection again, and would wait for as long as the caller likes. Not every writer has a deadline.
func boundBody(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
}

// takeBody checks what can be known of a body before it is read, and bounds the reading of it.
func takeBody(op *huma.Operation, limit int64, w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	if !takes(op, r.Header.Get("Content-Type")) {
		return fault.New(fault.UnsupportedMediaType, "send the body as Content-Type: application/json")
	}
	r.Body = &body{ReadCloser: r.Body, limit: limit, left: limit, w: w}
	return nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
}

// takes reports whether an operation reads a media type: JSON, or another one that it names.
func takes(op *huma.Operation, contentType string) bool {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil || isJSON(contentType) {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && op.RequestBody.Content[media] != nil
}

// isJSON accepts application/json, any application/…+json (RFC 6839), and no type at all.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

// body reads at most limit bytes within bodyTimeout. The deadline is lifted as soon as the body is read: net/http
// keeps reading the connection behind a handler, and would take a late timeout for a caller who has gone.
type body struct {
	io.ReadCloser
	limit, left int64
	begun       bool
	w           http.ResponseWriter
}

func (b *body) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		boundBody(b.w)
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Time{})
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge(b.limit)
	}
	return n, err
}
