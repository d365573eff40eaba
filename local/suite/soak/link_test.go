package soak_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"orgops/shared/testkit/errtest"
)

// link is the way from the program to one server. Two proxies in a row break it: toxiproxy breaks connections, and a reverse
// proxy behind it answers in the server's place.
type link struct {
	t     *testing.T
	url   string
	proxy *toxiproxy.Proxy

	mu     sync.Mutex
	refuse *refusal
}

// refusal is an answer in a server's place.
type refusal struct {
	status int
	body   string
}

// newLink opens a link to a server.
func newLink(t *testing.T, server string) *link {
	t.Helper()
	target, err := url.Parse(server)
	errtest.Must(t, err)
	l := &link{t: t}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		no := l.refuse
		l.mu.Unlock()
		if no != nil {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(no.status)
			fmt.Fprint(w, no.body)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(answers.Close)
	manager := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	l.proxy = toxiproxy.NewProxy(manager, "link", "127.0.0.1:0", strings.TrimPrefix(answers.URL, "http://"))
	errtest.Must(t, l.proxy.Start())
	t.Cleanup(l.proxy.Stop)
	l.url = "http://" + l.proxy.Listen
	return l
}

// answer replaces every answer of the server from now on; nil ends that.
func (l *link) answer(no *refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = no
}

// toxic adds a toxic of toxiproxy to what the server sends, in open connections too.
func (l *link) toxic(kind, attributes string) {
	l.t.Helper()
	text := fmt.Sprintf(`{"name": "fault", "type": %q, "stream": "downstream", "toxicity": 1, "attributes": %s}`, kind, attributes)
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text))
	errtest.Must(l.t, err)
}

// heal ends every fault.
func (l *link) heal() {
	l.answer(nil)
	l.proxy.Toxics.ResetToxics(context.Background())
}
