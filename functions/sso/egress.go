package sso

import (
	"errors"
	"io"
	"net/http"
	"time"

	"orgops/shared/webhook/outbound"
)

// Limits of one request to an identity provider.
const (
	egressTimeout = 5 * time.Second
	maxAnswer     = 512 << 10 // bytes
)

// egress returns an HTTP client for the libraries. It sends through the guarded client, follows no redirect, and ends a request
// and an answer within limits.
func egress(client *outbound.Client) *http.Client {
	return &http.Client{
		Transport: guarded{client}, Timeout: egressTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guarded is a transport that bounds each answer's body.
type guarded struct{ client *outbound.Client }

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
		return 0, outbound.ErrTooLarge
	}
	return n, err
}

// checkAddress refuses an address that the egress rules do not allow.
func (d Deps) checkAddress(url string) error {
	if problems := d.Client.CheckURL("", url); len(problems) > 0 {
		return errors.New(problems[0].Detail)
	}
	return nil
}
