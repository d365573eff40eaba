package outbound

import (
	"io"
	"net/http"
	"time"
)

// Limits of one request of HTTP's client.
const (
	httpTimeout = 5 * time.Second
	maxAnswer   = 512 << 10 // bytes
)

// HTTP returns an HTTP client for libraries that take one, such as those of OAuth. It sends under the egress rules, follows no redirect,
// ends a request after five seconds and fails an answer of more than 512 KiB.
func (c *Client) HTTP() *http.Client {
	return &http.Client{
		Transport: guarded{c}, Timeout: httpTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guarded is a transport that bounds each answer's body.
type guarded struct{ client *Client }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.client.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: maxAnswer}
	return resp, nil
}

// bounded fails a read beyond a number of bytes. A body that was cut off without an error could pass for a whole one.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}
