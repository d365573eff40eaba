package outbound_test

import (
	"bufio"
	"net"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// requestLines starts a server that answers 204 and returns each request line as it came.
func requestLines(t *testing.T) (address string, lines <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	got := make(chan string, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err == nil {
				got <- line
			}
			_, _ = conn.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String(), got
}

// TestClient_Do_requestLine sends every address as a valid request line, also an address that a provider's link has brought.
func TestClient_Do_requestLine(t *testing.T) {
	t.Parallel()
	address, lines := requestLines(t)
	c := outbound.New(outbound.Options{AllowLoopback: true})
	for target, want := range map[string]string{
		"":                        "/",
		"/p?q=a b":                "/p?q=a%20b",
		"/p?q=é&r=ü":              "/p?q=%C3%A9&r=%C3%BC",
		"/p?page[size]=2":         "/p?page%5Bsize%5D=2",
		"/a[1]/b%2Fc":             "/a%5B1%5D/b%2Fc",
		"/a b/é":                  "/a%20b/%C3%A9",
		"/p?a=100%&b=%zz":         "/p?a=100%25&b=%25zz",
		`/p?a="b"|<c>\^{}` + "`":  "/p?a=%22b%22%7C%3Cc%3E%5C%5E%7B%7D%60",
		"/p?a=%20&b=+;c=1&d='e'?": "/p?a=%20&b=+;c=1&d='e'?",
	} {
		resp, err := get(t, c, address+target)
		errtest.Must(t, err)
		resp.Body.Close()
		select {
		case got := <-lines:
			if want := "GET " + want + " HTTP/1.1\r\n"; got != want {
				t.Errorf("%q: the request line is %q, want %q", target, got, want)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%q: no request within 5 s", target)
		}
	}
}
