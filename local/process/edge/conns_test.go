package edge_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/local/process/edge"
	"orgops/shared/testkit/errtest"
)

// site is a server with at most so many connections. A request to /hang is served until the test ends.
type site struct {
	t       *testing.T
	address string
	hanging chan struct{} // gets a value when a request hangs
}

func serve(t *testing.T, most int, proxies edge.Proxies) *site {
	t.Helper()
	s, ended := &site{t, "", make(chan struct{})}, make(chan struct{})
	server := edge.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			s.hanging <- struct{}{}
			<-ended
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	s.address = l.Addr().String()
	l = edge.NewConns(most, proxies).Serve(server, l)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		close(ended)
		server.Close()
	})
	return s
}

// client is a connection that asks and stays open.
type client struct {
	t    *testing.T
	conn net.Conn
	read *bufio.Reader
}

// from opens a connection from an address of this machine.
func (s *site) from(address string) *client {
	s.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: time.Minute}
	conn, err := d.DialContext(s.t.Context(), "tcp", s.address)
	errtest.Must(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	errtest.Must(s.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return &client{s.t, conn, bufio.NewReader(conn)}
}

func (c *client) send(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, text)
	errtest.Must(c.t, err)
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (c *client) answer() answer {
	c.t.Helper()
	res, err := http.ReadResponse(c.read, nil)
	errtest.Must(c.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	errtest.Must(c.t, err)
	return answer{res.StatusCode, res.Header, string(body)}
}

func (c *client) ask(path string, want int) *client {
	c.t.Helper()
	c.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
	if res := c.answer(); res.status != want {
		c.t.Fatalf("%s: status = %d, want %d: %s", path, res.status, want, res.body)
	}
	return c
}

// ends waits until the server has closed the connection.
func (c *client) ends() {
	c.t.Helper()
	n, err := io.Copy(io.Discard, c.read)
	if n > 0 {
		c.t.Errorf("%d bytes, want none", n)
	}
	if isTimeout(err) {
		c.t.Error("the connection is open, want it closed")
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error) //nolint:errorlint // as net returns it
	return ok && timeout.Timeout()
}

// TestConns_Idle gives the place of the connection that waits longest to a new one, of the address with the most.
func TestConns_Idle(t *testing.T) {
	t.Parallel()
	s := serve(t, 8, nil)
	other := s.from("127.0.0.2").ask("/", 204)
	var idle []*client
	for range 4 { // half of all
		idle = append(idle, s.from("127.0.0.1").ask("/", 204))
	}
	s.from("127.0.0.1").ask("/", 204)
	idle[0].ends()
	idle[2].ask("/", 204)
	idle[1].ask("/", 204)
	s.from("127.0.0.1").ask("/", 204)
	idle[3].ends()
	for range 3 {
		s.from("127.0.0.3").ask("/", 204)
	}
	s.from("127.0.0.4").ask("/", 204) // the eighth is taken: the first address loses one
	other.ask("/", 204)
}

// TestConns_Slow lets no connection out whose request does not arrive.
func TestConns_Slow(t *testing.T) {
	t.Parallel()
	s := serve(t, 4, nil)
	for _, address := range []string{"127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.2"} {
		c := s.from(address)
		c.ask("/", 204)
		c.send("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	}
	for range 8 {
		s.from("127.0.0.3").ask("/", 204)
	}
}

// TestConns_Serving refuses a connection while all others are being served, and one more of an address that is served half of
// them. A trusted proxy may have all.
func TestConns_Serving(t *testing.T) {
	t.Parallel()
	hang := func(s *site, address string) {
		s.from(address).send("GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
		<-s.hanging
	}
	s := serve(t, 4, nil)
	hang(s, "127.0.0.1")
	hang(s, "127.0.0.1")
	refused := s.from("127.0.0.1")
	res := refused.answer()
	if res.status != http.StatusServiceUnavailable {
		t.Fatalf("a third of one address: status = %d, want 503", res.status)
	}
	for name, want := range map[string]string{"Retry-After": "2", "Content-Type": "application/problem+json"} {
		if got := res.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(res.body, "/problems/unavailable") {
		t.Errorf("body = %s, want a problem", res.body)
	}
	s.from("127.0.0.2").ask("/", 204)
	hang(s, "127.0.0.2")
	hang(s, "127.0.0.3") // instead of the idle one
	if res := s.from("127.0.0.4").answer(); res.status != http.StatusServiceUnavailable {
		t.Errorf("a fifth: status = %d, want 503", res.status)
	}

	behind := serve(t, 4, proxies())
	for range 4 {
		hang(behind, "127.0.0.1")
	}
	if res := behind.from("127.0.0.1").answer(); res.status != http.StatusServiceUnavailable {
		t.Errorf("a proxy's fifth: status = %d, want 503", res.status)
	}
}

// TestServer_Header refuses a header beyond the limit, and what is no request, with a problem.
func TestServer_Header(t *testing.T) {
	t.Parallel()
	s := serve(t, 4, nil)
	for name, tt := range map[string]struct {
		request string
		want    int
	}{
		"within":             {"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", edge.MaxHeader-100) + "\r\n\r\n", 204},
		"one line too large": {"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", edge.MaxHeader) + "\r\n\r\n", 431},
		"many lines":         {"GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-Many: x\r\n", 4000) + "\r\n", 431},
		"too long a line":    {"GET /" + strings.Repeat("x", 2*edge.MaxHeader) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
		"two hosts":          {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
		"no request":         {"\x16\x03\x01 hello\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.from("127.0.0.1")
			c.send(tt.request)
			res := c.answer()
			if res.status != tt.want {
				t.Fatalf("status = %d, want %d: %s", res.status, tt.want, res.body)
			}
			if tt.want == 204 {
				return
			}
			var problem struct {
				Type, Detail string
				Status       int
			}
			errtest.Must(t, json.Unmarshal([]byte(res.body), &problem))
			if problem.Status != tt.want {
				t.Errorf("problem = %s, want one of status %d", res.body, tt.want)
			}
			for name, text := range map[string]string{"type": problem.Type, "detail": problem.Detail} {
				if text == "" {
					t.Errorf("problem = %s, want it with a %s", res.body, name)
				}
			}
			if got := res.header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("Content-Type = %q, want application/problem+json", got)
			}
		})
	}
}
