package web_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/testkit/webtest"
)

// A refused caller that never sends the announced body must not keep the connection.
func TestServer_UnsentBody(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, path := range []string{"/companies/x/things", "/fail/not-found", "/nowhere"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				server := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
				go func() { _ = server.Serve(webtest.Listener(theirs)) }()
				defer server.Close()
				started := time.Now()
				go fmt.Fprintf(ours, "GET %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", path)
				resp, err := http.ReadResponse(bufio.NewReader(ours), nil)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if took := time.Since(started); took > 15*time.Second {
					t.Errorf("answered after %s, want 15 s at most", took)
				}
			})
		})
	}
}

func TestServer_UnreadableQuery(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := h.token(t, "a", "things:read")
	for _, query := range []string{"kind=%", "kind=%zz", "kind=a;limit=1"} {
		if w := h.do("GET", "/companies/a/things?"+query, own, ""); w.Code != 400 {
			t.Errorf("%s: status = %d, want 400: %s", query, w.Code, w.Body)
		}
	}
}

func TestProblem_ManyErrors(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var body strings.Builder
	body.WriteString(`{"name":"x"`)
	for i := range 5000 {
		fmt.Fprintf(&body, `,"k%d":1`, i)
	}
	body.WriteString("}")
	p := problem(t, h.do("POST", "/companies/a/things", h.token(t, "a", "things:read"), body.String()))
	if p.Status != 422 {
		t.Errorf("status = %d, want 422", p.Status)
	}
	if got := len(p.Errors); got != 101 {
		t.Fatalf("%d errors, want 101", got)
	}
	if got, want := p.Errors[100].Detail, "and 4900 more"; got != want {
		t.Errorf("last detail = %q, want %q", got, want)
	}
}
