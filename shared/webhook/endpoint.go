package webhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"orgops/shared/fault"
)

// userAgent names the sender, not its version: a receiver should not be able to tell what to attack.
const userAgent = "orgops-webhooks"

// Endpoint is where deliveries go, with all that does not change between them made ready. It is made once for a
// configuration and its live secrets, and safe for concurrent use.
type Endpoint struct {
	template http.Request
	header   http.Header
	signer   *Signer
}

// NewEndpoint prepares an endpoint. The URL and headers are those of a checked configuration; secrets are the live ones,
// newest first. What the delivery itself needs overrides a header of the same name. Errors are fault.Invalid.
func NewEndpoint(rawURL string, secrets []string, headers map[string]string) (*Endpoint, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return nil, fault.New(fault.Invalid, "the endpoint's url is not absolute")
	}
	signer, err := NewSigner(secrets)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		template: http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1},
		header:   make(http.Header, len(headers)+3),
		signer:   signer,
	}
	for name, value := range headers {
		e.header.Set(name, value)
	}
	e.header["Content-Type"] = []string{"application/json"}
	e.header["User-Agent"] = []string{userAgent}
	// Never sent: it lets the transport try again on a fresh connection when a kept-alive one turns out to be closed. A
	// delivery may always be sent twice.
	e.header["Idempotency-Key"] = []string{}
	return e, nil
}

// request is the signed request of one attempt. The header values that all attempts share are shared.
func (e *Endpoint) request(ctx context.Context, m Message, now time.Time) *http.Request {
	r := e.template.WithContext(ctx)
	timestamp := now.Unix()
	values := [...]string{m.ID, strconv.FormatInt(timestamp, 10), e.signer.Sign(m.ID, timestamp, m.Body)}
	r.Header = make(http.Header, len(e.header)+3)
	for name, value := range e.header {
		r.Header[name] = value
	}
	r.Header[HeaderID], r.Header[HeaderTimestamp], r.Header[HeaderSignature] = values[0:1:1], values[1:2:2], values[2:3:3]
	body := m.Body
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}
