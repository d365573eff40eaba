package acceptance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// echo holds what a server was sent, which it sends back.
type echo struct {
	URI     string      `json:"uri"`
	Headers http.Header `json:"headers"`
	Body    string      `json:"body"`
}

// echoOf reads a request.
func echoOf(r *http.Request) echo {
	body, _ := io.ReadAll(r.Body) // of a request that breaks off the rest is echoed
	return echo{r.RequestURI, r.Header, string(body)}
}

// write answers with the echo in the body and in headers.
func (e echo) write(w http.ResponseWriter, status int) {
	for name, values := range e.Headers {
		w.Header()["X-Echo-"+name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(map[string]any{"error": "echo", "error_description": fmt.Sprint(e), "message": fmt.Sprint(e), "echo": e})
}

// The ways in which an echoing provider answers, apart from the statuses.
const (
	listed     = "listed"      // with its list
	noStatus   = "no status"   // with the request in place of a status line
	badHeader  = "bad header"  // with the request in place of a header
	badVersion = "bad version" // with the request after the version
	badTrailer = "bad trailer" // with the request in place of a trailer
)

// failures returns the ways in which an echoing provider fails.
func failures() []string {
	return []string{"500", "400", "401", "403", "404", "410", "301", noStatus, badHeader, badVersion, badTrailer}
}

// echoProvider serves a list of http and github's API below any path, and sends back what it is sent.
type echoProvider struct {
	url   string
	way   atomic.Value // how it answers
	right atomic.Value // the credential that it lists for; others get 401
}

// credential holds the header that carries a provider's credential.
type credential struct{ name, value string }

func newEchoProvider(t *testing.T) *echoProvider {
	t.Helper()
	p := &echoProvider{}
	p.way.Store(listed)
	p.right.Store(credential{})
	p.url = serve(t, p.serve)
	return p
}

func (p *echoProvider) serve(w http.ResponseWriter, r *http.Request) {
	e := echoOf(r)
	way, _ := p.way.Load().(string)
	if right, _ := p.right.Load().(credential); way == listed && r.Header.Get(right.name) != right.value {
		way = "401"
	}
	if status, err := strconv.Atoi(way); err == nil {
		w.Header().Set("Location", "/moved?"+r.Header.Get("Authorization"))
		e.write(w, status)
		return
	}
	if way != listed {
		garble(w, r, way)
		return
	}
	item := map[string]any{
		"id": r.URL.Path, "number": 7, "title": "Listed", "html_url": "https://github.com/octo/app/issues/7", "state": "open",
		"updated_at": time.Now().UTC().Format(time.RFC3339), "echo": e,
	}
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	switch {
	case strings.HasSuffix(r.URL.Path, "/issues"):
		_ = json.NewEncoder(w).Encode([]any{item})
	case strings.HasPrefix(r.URL.Path, "/repos/"):
		_, _ = w.Write([]byte("[]"))
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"items": []any{item}, "echo": e})
	}
}

// garble answers with something that is no HTTP and holds the request.
func garble(w http.ResponseWriter, r *http.Request, way string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client has left
	}
	defer conn.Close()
	dump, _ := httputil.DumpRequest(r, false)
	line := r.Header.Get("Authorization") + " " + r.Header.Get("X-Custom") + " " + strings.ReplaceAll(strings.ReplaceAll(string(dump), "\r\n", " "), "Host:", "")
	switch way {
	case badHeader:
		line = "HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(line, ":", " ") + "\r\n\r\n"
	case badTrailer:
		line = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n0\r\n" + strings.ReplaceAll(line, ":", " ") + "\r\n\r\n"
	case badVersion:
		line = "HTTP/1." + line + " 200 OK\r\n\r\n"
	}
	_, _ = io.WriteString(conn, line+"\r\n")
}

// echoReceiver receives as a receiver does, and sends back what it is sent.
func echoReceiver(t *testing.T, secret string) *receiver {
	t.Helper()
	r := receive(t, secret)
	r.url = serve(t, func(w http.ResponseWriter, req *http.Request) {
		e, answer := echoOf(req), httptest.NewRecorder()
		req.Body = io.NopCloser(bytes.NewReader([]byte(e.Body)))
		r.ServeHTTP(answer, req)
		if answer.Code == http.StatusNoContent {
			answer.Code = http.StatusOK // 204 has no body
		}
		e.write(w, answer.Code)
	})
	return r
}

// accept lets a receiver verify with one more secret.
func (r *receiver) accept(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret)
}
