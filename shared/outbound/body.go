package outbound

import (
	"errors"
	"io"
	"net/http"
)

// ErrTooLarge is the answer of ReadBody when a body is longer than its limit.
var ErrTooLarge = errors.New("the answer is larger than the limit")

// ReadBody reads a whole body of at most limit bytes. A longer one is ErrTooLarge, with the first limit bytes.
func ReadBody(resp *http.Response, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if int64(len(body)) > limit {
		return body[:limit], ErrTooLarge
	}
	return body, err
}
