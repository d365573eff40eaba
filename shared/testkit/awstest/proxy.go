package awstest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"orgops/shared/base/awsclient"
)

// Proxy forwards a client's requests to a part, and lets a test simulate network failures and a busy service.
type Proxy struct {
	url      string
	services []string
	access   awsclient.Access
	part     *httputil.ReverseProxy

	mu       sync.Mutex
	script   []Step
	requests []Request
}

// Request records a request that the proxy received.
type Request struct {
	Operation string // such as PutItem; for services without named operations the method and path, such as POST /apikeys
	Body      string
	Again     bool // the client's retry
}

// Step says what the proxy does with one request instead of forwarding it.
type Step struct {
	Operation string // the operation that the step applies to
	Times     int    // how many requests; 0 means one
	// Lost forwards the request and then drops the connection instead of answering.
	Lost bool
	// Held holds the request back: the proxy sends to Held when the request is there, and forwards it when it receives from Held.
	Held chan struct{}
	// Status and Body are the proxy's answer; the part does not get the request. Lost and Held ignore them.
	Status int
	Body   string
}

// Through starts a proxy in front of the part, until the test ends.
func (p *Part) Through(t testing.TB) *Proxy {
	t.Helper()
	endpoint, services := p.at(t)
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &Proxy{services: services, part: httputil.NewSingleHostReverseProxy(target)}
	proxy.part.ErrorHandler = badGateway
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	proxy.url = server.URL
	proxy.access = Access(t, proxy)
	return proxy
}

// badGateway answers with the error if the part did not answer. It logs nothing, because a client that ends a long receive
// by disconnecting causes such an error too.
func badGateway(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func (p *Proxy) at(testing.TB) (string, []string) { return p.url, p.services }

// Access returns the access for clients that use the proxy.
func (p *Proxy) Access() awsclient.Access { return p.access }

// Play adds steps. Each request consumes the first step for its operation. A request without a step is forwarded.
func (p *Proxy) Play(steps ...Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range steps {
		for range max(s.Times, 1) {
			p.script = append(p.script, s)
		}
	}
}

// Clear removes the remaining steps.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = nil
}

// Asked returns the requests that the proxy received, in order.
func (p *Proxy) Asked() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.requests...)
}

// Calls returns the number of requests for an operation.
func (p *Proxy) Calls(operation string) int {
	n := 0
	for _, r := range p.Asked() {
		if r.Operation == operation {
			n++
		}
	}
	return n
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, named := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !named {
		operation = r.Method + " " + r.URL.Path
	}
	attempt := r.Header.Get("Amz-Sdk-Request") // such as "attempt=1; max=10"
	again := attempt != "" && !strings.HasPrefix(attempt, "attempt=1;")
	step, found := p.take(Request{operation, string(body), again})
	switch {
	case !found:
		p.part.ServeHTTP(w, r)
	case step.Held != nil:
		step.Held <- struct{}{}
		<-step.Held
		p.part.ServeHTTP(w, r)
	case step.Lost:
		p.part.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // closes the connection
	default:
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(step.Status)
		_, _ = io.WriteString(w, step.Body)
	}
}

// take records a request, and removes and returns its step.
func (p *Proxy) take(r Request) (Step, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	for i, s := range p.script {
		if s.Operation == r.Operation {
			p.script = append(p.script[:i:i], p.script[i+1:]...)
			return s, true
		}
	}
	return Step{}, false
}
