package outbound

import (
	"errors"
	"io"
	"net/http"
)

// ErrTooLarge reports that a body is longer than ReadBody's limit.
var ErrTooLarge = errors.New("the answer is larger than the limit")

// ReadBody reads a body of at most limit bytes. For a longer one it returns the first limit bytes and ErrTooLarge.
func ReadBody(resp *http.Response, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if int64(len(body)) > limit {
		return body[:limit], ErrTooLarge
	}
	return body, err
}
