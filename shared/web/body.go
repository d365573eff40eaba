package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

const (
	// MaxBody limits a request body, in bytes, unless an operation sets its own MaxBodyBytes.
	MaxBody = 1 << 20

	bodyTimeout = 10 * time.Second // for the whole body to arrive
)

// boundBody sets a deadline for the arrival of a body, even if no handler reads it. After a refusal, net/http reads the
// rest of the body to reuse the connection, and without a deadline it would wait as long as the caller likes. It ignores
// the error of a writer that supports no deadline.
func boundBody(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
}

// OnUnread lets an operation know of a request whose body is refused before its handler is called: it is too large, or of the
// wrong type. param returns a parameter of the path.
func OnUnread(op huma.Operation, told func(ctx context.Context, param func(name string) string, err error)) huma.Operation {
	return marked(op, unreadMark, told)
}

const unreadMark = "orgops-unread"

// unread tells an operation that asks for it of a body that is refused.
func unread(op *huma.Operation, r *http.Request, err error) {
	if told, ok := op.Metadata[unreadMark].(func(context.Context, func(string) string, error)); ok {
		told(r.Context(), r.PathValue, err)
	}
}

// takeBody checks the length and content type of a body, and limits how much of it a handler reads and for how long.
func takeBody(op *huma.Operation, limit Limit, w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	if r.ContentLength > limit.Bytes {
		return limit.Refuse()
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") && op.Metadata[codingMark] != true {
		return fault.New(fault.UnsupportedMediaType, "send the body without a Content-Encoding")
	}
	if !accepts(op, r.Header.Get("Content-Type")) {
		return fault.New(fault.UnsupportedMediaType, "send the body as Content-Type: application/json")
	}
	r.Body = &body{ReadCloser: r.Body, limit: limit, left: limit.Bytes, w: w, over: func(err error) { unread(op, r, err) }}
	return nil
}

// takeNone refuses the fields of a body that an operation does not take: a client that sends one expects an effect of it. An empty
// body and an empty object pass.
func takeNone(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return handlerError("cannot read request body", []error{err})
	}
	r.Body = http.NoBody
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if err := decode(raw, &members); err != nil {
		return malformed("", []error{&huma.ErrorDetail{Location: "body", Message: err.Error(), Value: string(raw)}})
	}
	var problems []fault.FieldError
	for _, name := range slices.Sorted(maps.Keys(members)) {
		problems = append(problems, fault.FieldError{Pointer: fault.Pointer(name), Detail: "is not a known field; the operation takes no body"})
	}
	return fault.Refuse(problems)
}

// saturated refuses a body while too many others arrive.
func saturated() error {
	return fault.New(fault.Unavailable, "too many bodies are arriving at once; try again")
}

// accepts reports whether an operation accepts a media type: JSON, or another type that it declares.
func accepts(op *huma.Operation, contentType string) bool {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil || isJSON(contentType) {
		return true
	}
	more, _ := op.Metadata[acceptMark].([]string)
	return slices.Contains(more, mediaOf(contentType))
}

// mediaOf returns the media type of a Content-Type in lower case, or "". A malformed parameter does not matter.
func mediaOf(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return media
}

// acceptMark is the metadata key for the media types that Accept adds.
const acceptMark = "orgops-accept"

// Accept lets an operation take more media types in addition to JSON. The OpenAPI document does not show them.
func Accept(op huma.Operation, media ...string) huma.Operation {
	return marked(op, acceptMark, media)
}

// isJSON accepts application/json, any application/…+json (RFC 6839), and a missing type.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == "application/json" {
		return true
	}
	media := mediaOf(contentType)
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// Bodies shares the memory for bodies in flight. A process that serves one request at a time needs none.
type Bodies interface {
	// Open begins to count the body of a request: of a company, or for a caller without a token of a source.
	Open(company, source string) Share
}

// Share counts the bytes of one body.
type Share interface {
	// Grow counts n more bytes. It waits for a short time while others hold too much, and returns false if they still do.
	Grow(n int) bool
	// Close gives the bytes back.
	Close()
}

// body reads at most limit bytes, within bodyTimeout and a second more for each MiB that has arrived. It lifts the deadline as soon
// as the body is read, because net/http keeps reading the connection behind a handler and would mistake a later timeout for a client
// that has disconnected.
type body struct {
	io.ReadCloser
	limit Limit
	left  int64
	begun time.Time
	w     http.ResponseWriter
	over  func(error) // called when the body turns out to be too large
	share Share       // nil: the body is not counted
}

func (b *body) Read(p []byte) (int, error) {
	if b.begun.IsZero() {
		b.begun = time.Now()
		boundBody(b.w)
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Time{})
	}
	before := b.limit.Bytes - b.left
	if b.left -= int64(n); b.left < 0 {
		err := b.limit.Refuse()
		if b.over != nil {
			b.over(err)
			b.over = nil
		}
		return 0, err
	}
	if arrived := (before + int64(n)) / MaxBody; err == nil && arrived > before/MaxBody {
		_ = http.NewResponseController(b.w).SetReadDeadline(b.begun.Add(bodyTimeout + time.Duration(arrived)*time.Second))
	}
	if b.share != nil && !b.share.Grow(n) {
		return 0, saturated()
	}
	return n, err
}

// release gives the body's bytes back once its request is answered.
func (b *body) release() { b.share.Close() }

// Reserve takes more memory for a request out of the same budget, such as for a large answer or a decoded body, until the client has read
// the answer. A slow reader holds it for as long as the connection lasts. It returns fault.Unavailable while others hold too much.
func Reserve(ctx context.Context, n int) error {
	req := requestOf(ctx)
	if req == nil || req.server.opts.Bodies == nil {
		return nil
	}
	if req.reserved == nil {
		req.reserved = req.server.opts.Bodies.Open(req.caller.Company, Source(ctx))
	}
	if !req.reserved.Grow(n) {
		return fault.New(fault.Unavailable, "too many large bodies and answers are held at once; try again")
	}
	return nil
}

// release gives back what Reserve took.
func (req *request) release() {
	if req.reserved != nil {
		req.reserved.Close()
	}
}
