package outbound

import (
	"errors"
	"io"
	"net/http"
)

// ErrTooLarge reports that a body is longer than ReadBody's limit.
var ErrTooLarge = errors.New("the answer is larger than the limit")

// firstRead is the size of the first buffer. Each is twice as large as the one before, so a body takes twice its size.
const firstRead = 64 << 10

// ReadBody reads a body of at most limit bytes. For a longer one it returns the first limit bytes and ErrTooLarge.
func ReadBody(resp *http.Response, limit int64) ([]byte, error) {
	body := make([]byte, 0, min(limit+1, firstRead))
	for {
		n, err := resp.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return body[:limit], ErrTooLarge
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return body, err
		case len(body) == cap(body):
			larger := make([]byte, len(body), min(limit+1, 2*int64(cap(body))))
			copy(larger, body)
			body = larger
		}
	}
}
