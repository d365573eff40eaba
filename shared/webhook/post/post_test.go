package post_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
	"orgops/shared/webhook/standardwebhooks"
)

// The message of the tests of Send.
const (
	secret      = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	messageID   = "0190163d-8694-739b-aea5-966c26f8ad91"
	messageBody = `{"type":"memory.created","data":{"title":"Grüße"}}`
)

func localClient() *outbound.Client { return outbound.New(outbound.Options{AllowLoopback: true}) }

func endpoint(tb testing.TB, url string) *post.Target {
	tb.Helper()
	e, err := post.NewTarget(url, []string{secret}, map[string]string{"X-Team": "billing", "content-type": "text/plain"}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func send(t *testing.T, url string, timeout time.Duration) post.Result {
	t.Helper()
	m := post.Message{ID: messageID, Body: []byte(messageBody), Timeout: timeout}
	return post.Send(t.Context(), localClient(), endpoint(t, url), m, time.Now)
}

func receiver(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestSend_request(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		got <- r
	})
	o := send(t, url+"/hooks?key=1", 5*time.Second)
	if diff := cmp.Diff(post.Result{Class: post.Delivered, Status: 200}, o, cmpopts.IgnoreFields(o, "Latency")); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if o.Latency <= 0 {
		t.Errorf("latency = %s, want more than 0", o.Latency)
	}
	r := <-got
	body, _ := io.ReadAll(r.Body)
	id, err := standardwebhooks.Verify([]string{secret}, r.Header, body, time.Now())
	errtest.Must(t, err)
	if id != messageID {
		t.Errorf("verified as %q, want %q", id, messageID)
	}
	type request struct {
		method, url, body string
		length            int64
	}
	want := request{http.MethodPost, "/hooks?key=1", messageBody, int64(len(messageBody))}
	if got := (request{r.Method, r.URL.String(), string(body), r.ContentLength}); got != want {
		t.Errorf("request = %+v, want %+v", got, want)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Team": "billing", "User-Agent": "orgops-webhooks", "Idempotency-Key": "", "Accept-Encoding": "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestSend_classes(t *testing.T) {
	t.Parallel()
	inTenMinutes := time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
	tests := []struct {
		name    string
		status  int
		header  map[string]string
		class   post.Class
		err     string // part of it
		healthy bool
		atLeast time.Duration // of RetryAfter; a date loses up to a second
		atMost  time.Duration
	}{
		{"200", 200, nil, post.Delivered, "", true, 0, 0},
		{"204", 204, nil, post.Delivered, "", true, 0, 0},
		{"299", 299, map[string]string{"Retry-After": "9"}, post.Delivered, "", true, 0, 0},
		{"301", 301, map[string]string{"Location": "http://169.254.169.254/"}, post.Failed, "redirects are not followed", true, 0, 0},
		{"307", 307, map[string]string{"Location": "/elsewhere"}, post.Failed, "redirects are not followed", true, 0, 0},
		{"400", 400, nil, post.Failed, "answered 400 Bad Request", true, 0, 0},
		{"404", 404, nil, post.Failed, "answered 404 Not Found", true, 0, 0},
		{"410", 410, nil, post.Gone, "410", true, 0, 0},
		{"429 seconds", 429, map[string]string{"Retry-After": "120"}, post.Throttled, "answered 429", false, 2 * time.Minute, 2 * time.Minute},
		{"429 date", 429, map[string]string{"Retry-After": inTenMinutes}, post.Throttled, "answered 429", false, 8 * time.Minute, 10 * time.Minute},
		{"429 a week", 429, map[string]string{"Retry-After": "604800"}, post.Throttled, "answered 429", false, 24 * time.Hour, 24 * time.Hour},
		{"429 nonsense", 429, map[string]string{"Retry-After": "later"}, post.Throttled, "answered 429", false, 0, 0},
		{"500", 500, nil, post.Failed, "answered 500", false, 0, 0},
		{"502", 502, nil, post.Throttled, "answered 502", false, 0, 0},
		{"503 seconds", 503, map[string]string{"Retry-After": "30"}, post.Failed, "answered 503", false, 30 * time.Second, 30 * time.Second},
		{"504", 504, nil, post.Throttled, "answered 504", false, 0, 0},
		{"599", 599, nil, post.Failed, "answered 599", false, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				for name, value := range tt.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
			})
			o := send(t, url, 5*time.Second)
			if got, want := [...]any{o.Class, o.Status, o.Healthy()}, [...]any{tt.class, tt.status, tt.healthy}; got != want {
				t.Errorf("class, status and health = %v, want %v", got, want)
			}
			checkErr(t, o, tt.err)
			if o.RetryAfter < tt.atLeast || o.RetryAfter > tt.atMost {
				t.Errorf("retry after %s, want %s to %s", o.RetryAfter, tt.atLeast, tt.atMost)
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// checkErr checks that an outcome's error contains a text. For the text "" it checks that there is no error.
func checkErr(t *testing.T, o post.Result, want string) {
	t.Helper()
	if !strings.Contains(o.Err, want) {
		t.Errorf("error = %q, want one with %q", o.Err, want)
	}
	if want == "" && o.Err != "" {
		t.Errorf("error = %q, want none", o.Err)
	}
}

func TestSend_excerpt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		body []byte
		ok   func(string) bool
	}{
		{"short", []byte("thanks"), func(s string) bool { return s == "thanks" }},
		{"empty", nil, func(s string) bool { return s == "" }},
		{"huge", bytes.Repeat([]byte("a"), 10<<20), func(s string) bool { return s == strings.Repeat("a", 1024) }},
		{"cut within a character", []byte("a" + strings.Repeat("é", 2000)), func(s string) bool { return len(s) <= 1024 && strings.HasPrefix(s, "aéé") }},
		{"not UTF-8", []byte("\xff\xfe binary \x80"), func(s string) bool { return strings.Contains(s, " binary ") }},
		{"lines", []byte("a\tb\r\nc\n"), func(s string) bool { return s == "a\tb\r\nc\n" }},
		{"control characters", []byte("a\x00\x00\x1b\x7fé"), func(s string) bool { return s == "a\uFFFDé" }},
		{"all bad", bytes.Repeat([]byte("\xc3A"), 800), func(s string) bool { return len(s) > 900 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := receiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(tt.body) })
			o := send(t, url, 5*time.Second)
			if o.Class != post.Delivered {
				t.Errorf("class = %s, want %s", o.Class, post.Delivered)
			}
			if !utf8.ValidString(o.Excerpt) {
				t.Errorf("excerpt is not UTF-8: %.40q", o.Excerpt)
			}
			if n := len(o.Excerpt); n > 1024 {
				t.Errorf("excerpt has %d bytes, want 1024 at most", n)
			}
			if !tt.ok(o.Excerpt) {
				t.Errorf("excerpt = %.40q with %d bytes, want it as in %q", o.Excerpt, len(o.Excerpt), tt.name)
			}
		})
	}
}

// raw starts a TCP server that reads the beginning of the request and then passes the connection to misbehave.
func raw(t *testing.T, misbehave func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				misbehave(conn)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestSend_misbehaving(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	write := func(c net.Conn, s string) { _, _ = io.WriteString(c, s) }
	tests := []struct {
		name  string
		url   string
		class post.Class
		err   string
	}{
		{"hangs", raw(t, func(net.Conn) { <-hang }), post.Failed, "no answer in time"},
		{"header never ends", raw(t, func(c net.Conn) { write(c, "HTTP/1.1 200 OK\r\nX-A: 1\r\n"); <-hang }), post.Failed, "no answer in time"},
		{"drips its header", raw(t, func(c net.Conn) {
			write(c, "HTTP/1.1 200 OK\r\n")
			for _, err := io.WriteString(c, "X"); err == nil; _, err = io.WriteString(c, "X") {
				select {
				case <-hang:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}), post.Failed, "no answer in time"},
		{"body never arrives", raw(t, func(c net.Conn) { write(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"); <-hang }), post.Delivered, ""},
		{"truncated body", raw(t, func(c net.Conn) { write(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab") }), post.Delivered, ""},
		{"body after an error never arrives", raw(t, func(c net.Conn) { write(c, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\n"); <-hang }), post.Failed, "answered 500"},
		{"resets", raw(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }), post.Failed, "connection reset"},
		{"closes", raw(t, func(net.Conn) {}), post.Failed, "closed before"},
		{"is not HTTP", raw(t, func(c net.Conn) { write(c, "220 mail.example ESMTP\r\n") }), post.Failed, "not valid HTTP"},
		{"refuses connections", "http://127.0.0.1:1", post.Failed, "connection refused"},
		{"speaks no TLS", strings.Replace(raw(t, func(c net.Conn) { write(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }), "http:", "https:", 1), post.Failed, "answers without TLS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			timeout := 2 * time.Second // long enough for an answer on a busy machine
			if tt.err == "no answer in time" {
				timeout = 300 * time.Millisecond
			}
			started := time.Now()
			o := send(t, tt.url, timeout)
			if o.Class != tt.class {
				t.Errorf("class = %s, want %s", o.Class, tt.class)
			}
			checkErr(t, o, tt.err)
			if took := time.Since(started); took > timeout+5*time.Second {
				t.Errorf("took %s, the limit was %s", took, timeout)
			}
		})
	}
}

func TestSend_refusedAddress(t *testing.T) {
	t.Parallel()
	m := post.Message{ID: messageID, Body: []byte("{}"), Timeout: time.Second}
	o := post.Send(t.Context(), outbound.New(outbound.Options{}), endpoint(t, "https://127.0.0.1/"), m, time.Now)
	want := post.Result{Class: post.Failed, Err: "the host's address is not public"}
	if diff := cmp.Diff(want, o, cmpopts.IgnoreFields(o, "Latency")); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if o.Healthy() {
		t.Errorf("outcome %+v is healthy, want it not to be", o)
	}
}

func TestSend_aborted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a disconnect only after this
		cancel()
		<-r.Context().Done()
	})
	o := post.Send(ctx, localClient(), endpoint(t, url), post.Message{ID: "1", Body: []byte("{}"), Timeout: 10 * time.Second}, time.Now)
	if o.Class != post.Aborted {
		t.Errorf("class = %s, want %s", o.Class, post.Aborted)
	}
}

// A receiver may close a kept-alive connection at any time. The next delivery must succeed.
func TestSend_reusesConnectionsAndSurvivesStaleOnes(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c, e := localClient(), endpoint(t, s.URL)
	for i := range 20 {
		if i == 10 {
			s.CloseClientConnections()
		}
		o := post.Send(t.Context(), c, e, post.Message{ID: "1", Body: []byte("{}"), Timeout: 5 * time.Second}, time.Now)
		if o.Class != post.Delivered {
			t.Fatalf("delivery %d = %+v, want class %s", i, o, post.Delivered)
		}
	}
	if n := opened.Load(); n != 2 {
		t.Errorf("%d connections were opened, want 2", n)
	}
}

func BenchmarkSend(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(s.Close)
	c, e := localClient(), endpoint(b, s.URL)
	m := post.Message{ID: messageID, Body: bytes.Repeat([]byte("x"), 300), Timeout: 5 * time.Second}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if o := post.Send(b.Context(), c, e, m, time.Now); o.Class != post.Delivered {
				b.Errorf("outcome = %+v, want class %s", o, post.Delivered)
			}
		}
	})
}
