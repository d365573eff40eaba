package blackbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// request is what a journey sends. The path is what is written on the wire, unchanged.
type request struct {
	method, path string
	body         any // nil, bytes as they are, or what is sent as JSON
	header       map[string]string
	as           string // the bearer token's name in the record; "" for none
	token        string
}

func get(path string) request { return request{method: http.MethodGet, path: path} }
func post(path string, body any) request {
	return request{method: http.MethodPost, path: path, body: body}
}

func callDelete(path string) request { return call(http.MethodDelete, path, nil) }

func call(method, path string, body any) request {
	return request{method: method, path: path, body: body}
}

// with adds a header.
func (r request) with(name, value string) request {
	r.header = maps.Clone(r.header)
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header[name] = value
	return r
}

// content is the body's bytes; nil for none.
func (r request) content() ([]byte, error) {
	switch body := r.body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return body, nil
	}
	return json.Marshal(r.body)
}

// answer is a response with its body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// json decodes the body; what does not decode leaves into as it is.
func (a answer) json(into any) answer {
	_ = json.Unmarshal(a.body, into) // the record shows what it was instead
	return a
}

func (a answer) String() string { return fmt.Sprintf("%d: %.2000s", a.status, a.body) }

// requestTimeout bounds a request. A deployed function may have to start first.
const requestTimeout = time.Minute

// newClient asks before it sends a body, so that a refusal of a great one is read and no broken pipe; it follows nothing.
func newClient() *http.Client {
	return &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: requestTimeout}).DialContext, MaxIdleConnsPerHost: 16,
			ExpectContinueTimeout: 10 * time.Second, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// askBefore is how long a body has to be for the client to ask whether it is welcome (RFC 9110 §10.1.1).
const askBefore = 64 << 10

// send makes a request at a base url.
func send(ctx context.Context, client *http.Client, base string, r request) (answer, error) {
	content, err := r.content()
	if err != nil {
		return answer{}, err
	}
	var body io.Reader
	if content != nil {
		body = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, base, body)
	if err != nil {
		return answer{}, err
	}
	req.URL = &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Opaque: strings.TrimSuffix(req.URL.Path, "/") + r.path}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if len(content) >= askBefore {
		req.Header.Set("Expect", "100-continue")
	}
	if r.as != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.header {
		if req.Header.Del(name); value != "" {
			req.Header[http.CanonicalHeaderKey(name)] = []string{value}
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, got}, err
}
