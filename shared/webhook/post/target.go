package post

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/webhook/standardwebhooks"
)

// userAgent names the sender but not its version, which could help an attacker.
const userAgent = "orgops-webhooks"

// Target holds everything about an endpoint that does not change between deliveries. Make one for each configuration with
// its live secrets. It is safe for concurrent use.
type Target struct {
	template http.Request
	header   http.Header
	signer   *standardwebhooks.Signer
	hidden   []string // texts that no log of an attempt may show, longest first
}

// NewTarget makes a target. The URL and headers come from a checked configuration; secrets are the live ones, newest first.
// The headers that the courier sets override configured and secret headers of the same name. Errors are fault.Invalid.
func NewTarget(rawURL string, secrets []string, headers, secretHeaders map[string]string) (*Target, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return nil, fault.New(fault.Invalid, "the endpoint's url is not absolute")
	}
	signer, err := standardwebhooks.NewSigner(secrets)
	if err != nil {
		return nil, err
	}
	e := &Target{
		template: http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1},
		header:   make(http.Header, len(headers)+3),
		signer:   signer,
	}
	for name, value := range headers {
		e.header.Set(name, value)
	}
	for name, value := range secretHeaders {
		e.header.Set(name, value)
	}
	e.hidden = hidden(secretHeaders)
	e.header["Content-Type"] = []string{"application/json"}
	e.header["User-Agent"] = []string{userAgent}
	// The empty header is never sent. It lets the transport retry on a new connection if the server has closed a kept-alive
	// one. The retry is safe, because a delivery may always be sent twice.
	e.header["Idempotency-Key"] = []string{}
	return e, nil
}

// request makes the signed request of one attempt. Attempts share the slices of header values that do not change.
func (e *Target) request(ctx context.Context, m Message, now time.Time) *http.Request {
	r := e.template.WithContext(ctx)
	timestamp := now.Unix()
	values := [...]string{m.ID, strconv.FormatInt(timestamp, 10), e.signer.Sign(m.ID, timestamp, m.Body)}
	r.Header = make(http.Header, len(e.header)+3)
	for name, value := range e.header {
		r.Header[name] = value
	}
	r.Header[standardwebhooks.HeaderID], r.Header[standardwebhooks.HeaderTimestamp], r.Header[standardwebhooks.HeaderSignature] = values[0:1:1], values[1:2:2], values[2:3:3]
	body := m.Body
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}
