package process_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"orgops/local/process"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// TestOpen_Exposed lets endpoints and feeds be on this machine only while no other machine reaches the service, or if the
// operator allows the network. Otherwise a stranger's endpoint could reach what listens on this machine alone. A service
// that others reach without TLS says so.
func TestOpen_Exposed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		addr            string
		networks        []netip.Prefix
		proxies         []netip.Prefix
		reaches, warned bool
	}{
		"loopback":           {"127.0.0.1:4000", nil, nil, true, false},
		"another loopback":   {"127.8.8.8:4000", nil, nil, true, false},
		"IPv6 loopback":      {"[::1]:4000", nil, nil, true, false},
		"localhost":          {"localhost:4000", nil, nil, true, false},
		"all addresses":      {":4000", nil, nil, false, true},
		"all IPv4 addresses": {"0.0.0.0:4000", nil, nil, false, true},
		"all IPv6 addresses": {"[::]:4000", nil, nil, false, true},
		"a private address":  {"10.1.2.3:4000", nil, nil, false, true},
		"a public address":   {"203.0.113.7:80", nil, nil, false, true},
		"a name":             {"ops.example.com:80", nil, nil, false, true},
		"allowed":            {"0.0.0.0:4000", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil, true, true},
		"another is allowed": {"0.0.0.0:4000", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, nil, false, true},
		"behind a proxy":     {"127.0.0.1:4000", nil, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, false, false},
		"allowed behind one": {"127.0.0.1:4000", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, true, false},
		"a proxy elsewhere":  {"0.0.0.0:4000", nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			c := config.Config{Data: t.TempDir(), Addr: tt.addr, Issuer: "https://orgops.test", Audience: "orgops", AllowNetworks: tt.networks, Proxies: tt.proxies}
			p, err := process.Open(t.Context(), c, slog.New(slog.NewTextHandler(&log, nil)))
			errtest.Must(t, err)
			defer p.Close()
			for _, url := range []string{"http://127.0.0.1:9/", "http://localhost:9/"} {
				problems := p.Services.Client.CheckURL("/url", url)
				if got := len(problems) == 0; got != tt.reaches {
					t.Errorf("%s may be called: %t, want %t: %v", url, got, tt.reaches, problems)
				}
			}
			if got := strings.Contains(log.String(), "level=WARN"); got != tt.warned {
				t.Errorf("warned: %t, want %t: %s", got, tt.warned, &log)
			}
		})
	}
}

// TestLimit refuses a connection beyond the limit with 503, and takes connections again when one has ended.
func TestLimit(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	ended := make(chan struct{}, 10)
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended <- struct{}{}
		}
	}
	go func() { _ = server.Serve(process.Limit(l, 1)) }()
	defer server.Close()
	type answer struct {
		status int
		header http.Header
		closes bool
		body   []byte
	}
	ask := func() (net.Conn, answer) {
		conn, err := net.Dial("tcp", l.Addr().String())
		errtest.Must(t, err)
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		errtest.Must(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		errtest.Must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		errtest.Must(t, err)
		return conn, answer{res.StatusCode, res.Header, res.Close, body}
	}
	held, res := ask()
	if res.status != http.StatusNoContent {
		t.Fatalf("first connection: status = %d, want 204", res.status)
	}
	refused, res := ask()
	defer refused.Close()
	if res.status != http.StatusServiceUnavailable {
		t.Fatalf("second connection: status = %d, want 503", res.status)
	}
	for name, want := range map[string]string{"Retry-After": "2", "Content-Type": "application/problem+json"} {
		if got := res.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if !res.closes {
		t.Error("the refused connection stays open, want it closed")
	}
	var problem struct {
		Type   string
		Status int
	}
	errtest.Must(t, json.Unmarshal(res.body, &problem))
	if problem.Type != "/problems/unavailable" {
		t.Errorf("type = %q, want /problems/unavailable", problem.Type)
	}
	held.Close()
	<-ended
	again, res := ask()
	defer again.Close()
	if res.status != http.StatusNoContent {
		t.Errorf("after the first has ended: status = %d, want 204", res.status)
	}
}
