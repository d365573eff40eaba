package blackbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"orgops/shared/base/wait"
)

// request is an HTTP request of a journey. The client writes the path on the wire unchanged.
type request struct {
	method, path string
	body         any // nil for none; []byte is sent as it is, everything else as JSON
	header       map[string]string
	as           string // the name of the bearer token in the golden file; "" for none
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

// with returns the request with a header more. An empty value removes a header that the client would send.
func (r request) with(name, value string) request {
	r.header = maps.Clone(r.header)
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header[name] = value
	return r
}

// content returns the bytes of the body, nil for none.
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

// json decodes the body into a value. A body that does not decode leaves the value as it is.
func (a answer) json(into any) answer {
	_ = json.Unmarshal(a.body, into) // the step shows what it was instead
	return a
}

func (a answer) String() string { return fmt.Sprintf("%d: %.2000s", a.status, a.body) }

// requestTimeout bounds a request. A deployed function may first have to start.
const requestTimeout = time.Minute

// newClient returns a client that follows no redirects. It waits for 100 Continue before it sends a large body, so that it
// reads a refusal instead of getting a broken pipe.
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

// client returns a client for the target. A throttled one is asked again, as AWS's clients do.
func (t *target) client() *http.Client {
	c := newClient()
	if t.throttled {
		c.Transport = again{c.Transport}
	}
	return c
}

// again sends a request again that the gateway has refused because Lambda throttled a function. Such an answer has the gateway's
// header. Waits follow full jitter: https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
type again struct{ http.RoundTripper }

const (
	mostTries   = 12
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second
)

// RoundTrip implements http.RoundTripper.
func (a again) RoundTrip(r *http.Request) (*http.Response, error) {
	for n := range mostTries {
		if n > 0 && r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			r.Body = body
		}
		res, err := a.RoundTripper.RoundTrip(r)
		if err != nil || res.StatusCode < http.StatusInternalServerError || res.Header.Get("X-Amzn-Errortype") == "" || n == mostTries-1 {
			return res, err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		most := min(firstWait<<n, longestWait)
		if !wait.For(r.Context(), time.Duration(rand.Int64N(int64(most)))) {
			return nil, r.Context().Err()
		}
	}
	panic("unreachable")
}

// askBefore is the length from which the client asks before it sends a body (RFC 9110 §10.1.1).
const askBefore = 64 << 10

// send sends a request to the API at the url base.
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
