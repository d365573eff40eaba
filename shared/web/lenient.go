package web

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

const (
	lenientMark = "orgops-lenient"
	limitMark   = "orgops-body-limit"
	codingMark  = "orgops-coding"
	streamMark  = "orgops-stream"
)

// Lenient lets an operation take a slash behind its path, and ignore the query. It is for senders that make the url themselves, such
// as a provider that adds parameters of its own.
func Lenient(op huma.Operation) huma.Operation { return marked(op, lenientMark, true) }

func isLenient(op *huma.Operation) bool { return op.Metadata[lenientMark] == true }

// withoutQuery returns a request without its query.
func withoutQuery(r *http.Request) *http.Request {
	if r.URL.RawQuery == "" {
		return r
	}
	bare, address := *r, *r.URL
	address.RawQuery = ""
	bare.URL = &address
	return &bare
}

// Limit bounds a body.
type Limit struct {
	Bytes  int64
	Advice string // what to do about a larger one; may be ""
}

// Refuse returns the fault for a larger body.
func (l Limit) Refuse() error {
	detail := fmt.Sprintf("the body is larger than %d bytes", l.Bytes)
	if l.Advice != "" {
		detail += "; " + l.Advice
	}
	return fault.New(fault.TooLarge, detail)
}

// BodyLimit lets each request of an operation have its own limit of the body, of at least MaxBody. param returns a parameter of the path.
func BodyLimit(op huma.Operation, limit func(param func(name string) string, header http.Header) Limit) huma.Operation {
	return marked(op, limitMark, limit)
}

// limitOf returns how an operation limits the body of a request.
func limitOf(op *huma.Operation, limit int64) func(*http.Request) Limit {
	if of, ok := op.Metadata[limitMark].(func(func(string) string, http.Header) Limit); ok {
		return func(r *http.Request) Limit {
			if 0 <= r.ContentLength && r.ContentLength <= MaxBody { // no limit is smaller
				return Limit{Bytes: MaxBody}
			}
			return of(r.PathValue, r.Header)
		}
	}
	return func(*http.Request) Limit { return Limit{Bytes: limit} }
}

// Stream lets an operation have a body of more than MaxBody pass by. to chooses by path and headers: each byte goes to the writer that it
// returns, under the context that it returns, and the handler gets only the beginning. With nil, the handler gets the body.
func Stream(op huma.Operation, to func(ctx context.Context, param func(name string) string, header http.Header) (context.Context, io.Writer)) huma.Operation {
	return marked(op, streamMark, to)
}

// streamed lets the body of a request pass by if its operation chooses so.
func streamed(op *huma.Operation, r *http.Request) *http.Request {
	if r.ContentLength <= MaxBody {
		return r
	}
	to, ok := op.Metadata[streamMark].(func(context.Context, func(string) string, http.Header) (context.Context, io.Writer))
	if !ok {
		return r
	}
	ctx, w := to(r.Context(), r.PathValue, r.Header)
	if w == nil {
		return r
	}
	r = r.WithContext(ctx)
	r.Body = &passing{ReadCloser: r.Body, to: w}
	return r
}

// passing is a body that is written away. What the first read gives is all that its reader gets.
type passing struct {
	io.ReadCloser
	to    io.Writer
	begun bool
}

// Read implements io.Reader.
func (b *passing) Read(p []byte) (int, error) {
	if b.begun {
		_, err := io.Copy(b.to, b.ReadCloser)
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	_, _ = b.to.Write(p[:n]) // it takes everything
	return n, err
}

// TakesCodings lets an operation take bodies with a Content-Encoding. The operation decodes them.
func TakesCodings(op huma.Operation) huma.Operation { return marked(op, codingMark, true) }
