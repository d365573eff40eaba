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

	"orgops/shared/awsclient"
)

// Proxy stands between a client and a part and lets a test interfere: a network that fails, a service that is busy.
type Proxy struct {
	url      string
	services []string
	access   awsclient.Access
	part     *httputil.ReverseProxy

	mu     sync.Mutex
	script []Step
	asked  []Request
}

// Request is one that came through.
type Request struct {
	Operation string // such as PutItem; of services without named operations the method and path, such as POST /apikeys
	Body      string
	Again     bool // the client's second try, or a later one
}

// Step is what happens to one request instead of being passed on.
type Step struct {
	Operation string // the requests it is for
	Times     int    // for how many; 0 is one
	// Lost passes the request on and drops the connection instead of answering.
	Lost bool
	// Status and Body are the answer, without the part being asked; with Lost they are none.
	Status int
	Body   string
}

// Through makes a proxy.
func (p *Part) Through(t testing.TB) *Proxy {
	t.Helper()
	endpoint, services := p.at(t)
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &Proxy{services: services, part: httputil.NewSingleHostReverseProxy(target)}
	proxy.part.ErrorHandler = unreached
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	proxy.url = server.URL
	proxy.access = Access(t, proxy)
	return proxy
}

// unreached answers for a part that did not. Whoever still waits reads why; those who end a long receive by going away
// are no news.
func unreached(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func (p *Proxy) at(testing.TB) (string, []string) { return p.url, p.services }

// Access is what a client that goes through the proxy is made from.
func (p *Proxy) Access() awsclient.Access { return p.access }

// Play adds steps. Each request takes the first that is for it and not used up; without one it is passed on.
func (p *Proxy) Play(steps ...Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range steps {
		for range max(s.Times, 1) {
			p.script = append(p.script, s)
		}
	}
}

// Clear takes away the steps that are left.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = nil
}

// Asked are the requests that came, in order.
func (p *Proxy) Asked() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.asked...)
}

// Calls is how many requests for an operation came.
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
	case step.Lost:
		p.part.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // closes the connection
	default:
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(step.Status)
		_, _ = io.WriteString(w, step.Body)
	}
}

// take notes a request and finds its step.
func (p *Proxy) take(r Request) (Step, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	for i, s := range p.script {
		if s.Operation == r.Operation {
			p.script = append(p.script[:i:i], p.script[i+1:]...)
			return s, true
		}
	}
	return Step{}, false
}
