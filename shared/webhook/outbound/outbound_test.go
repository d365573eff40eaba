package outbound_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"orgops/shared/webhook/outbound"
)

func get(t *testing.T, c *outbound.Client, url string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

func TestClient_Do_addresses(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 16)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())

	refusing := outbound.New(outbound.Options{})
	// Only localhost needs a look-up. It resolves to a refused address, so the check must see the resolved address.
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "10.255.255.1", "169.254.169.254"} {
		resp, err := get(t, refusing, "http://"+host+":"+port+"/")
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s: answered %d, want it refused", host, resp.StatusCode)
			continue
		}
		var refused *outbound.AddressError
		if !errors.As(err, &refused) {
			t.Errorf("%s: err = %v, want an AddressError", host, err)
		}
		for name, got := range map[string]string{"explained": outbound.Explain(err), "refused": refused.Error()} {
			if want := "the host's address is not public"; got != want {
				t.Errorf("%s: %s as %q, want %q", host, name, got, want)
			}
		}
	}
	if len(reached) > 0 {
		t.Error("a refused request reached the server")
	}
	for _, opts := range []outbound.Options{
		{AllowLoopback: true},
		{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	} {
		resp, err := get(t, outbound.New(opts), server.URL)
		if err != nil {
			t.Fatalf("%+v: %v", opts, err)
		}
		resp.Body.Close()
		<-reached
	}
}

func TestClient_Do_redirectIsAnAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/", http.StatusFound))
	t.Cleanup(server.Close)
	resp, err := get(t, outbound.New(outbound.Options{AllowLoopback: true}), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("status %d, want the redirect itself", resp.StatusCode)
	}
}

// simulated answers every request without a network.
type simulated struct{}

func (simulated) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}, nil
}

func TestClient_Do_transport(t *testing.T) {
	t.Parallel()
	resp, err := get(t, outbound.New(outbound.Options{Transport: simulated{}}), "https://simulated.test/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTeapot {
		t.Errorf("status %d, want that of the given transport, %d", resp.StatusCode, http.StatusTeapot)
	}
}

func TestClient_Do_noProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	resp, err := get(t, outbound.New(outbound.Options{AllowLoopback: true}), "http://198.51.100.7/")
	if err == nil {
		resp.Body.Close()
		t.Fatalf("answered %d: the client used the environment's proxy", resp.StatusCode)
	}
}

func TestClient_Do_tls(t *testing.T) {
	t.Parallel()
	serve := func(version uint16) (*httptest.Server, *x509.CertPool) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Proto", r.Proto) }))
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
		s.Config.ErrorLog = nil
		s.StartTLS()
		t.Cleanup(s.Close)
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		return s, roots
	}
	t.Run("1.2 and HTTP/2", func(t *testing.T) {
		t.Parallel()
		s, roots := serve(tls.VersionTLS12)
		resp, err := get(t, outbound.New(outbound.Options{AllowLoopback: true, RootCAs: roots}), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Proto"); got != "HTTP/2.0" {
			t.Errorf("protocol = %s, want HTTP/2.0", got)
		}
	})
	t.Run("older is refused", func(t *testing.T) {
		t.Parallel()
		s, roots := serve(tls.VersionTLS11)
		resp, err := get(t, outbound.New(outbound.Options{AllowLoopback: true, RootCAs: roots}), s.URL)
		if err == nil {
			resp.Body.Close()
			t.Fatal("TLS 1.1 was accepted")
		}
	})
	t.Run("an unknown certificate is explained", func(t *testing.T) {
		t.Parallel()
		s, _ := serve(tls.VersionTLS13)
		resp, err := get(t, outbound.New(outbound.Options{AllowLoopback: true, RootCAs: x509.NewCertPool()}), s.URL)
		if err == nil {
			resp.Body.Close()
			t.Fatal("an unknown certificate was accepted")
		}
		if got, want := outbound.Explain(err), "the certificate is not accepted"; !strings.HasPrefix(got, want) {
			t.Errorf("explained as %q, want it to begin with %q", got, want)
		}
	})
}

func TestClient_Do_headerLimit(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Big", strings.Repeat("x", 64<<10))
	}))
	t.Cleanup(server.Close)
	resp, err := get(t, outbound.New(outbound.Options{AllowLoopback: true}), server.URL)
	if err == nil {
		resp.Body.Close()
		t.Fatal("a header of 64 kB was read")
	}
}

// An error of net/http would quote the answer, in which a server may send back a credential.
func TestClient_Do_ErrNotHTTP(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"s3cret\r\n\r\n", "HTTP/1.s3cret 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ns3cret\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: s3cret\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\ns3cret\r\n\r\n"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, answer)
		}))
		t.Cleanup(server.Close)
		resp, err := get(t, outbound.New(outbound.Options{AllowLoopback: true}), server.URL)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, outbound.ErrNotHTTP) {
			t.Errorf("answer %q: error = %v, want %v", answer, err, outbound.ErrNotHTTP)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "a.example", Server: "10.0.0.2:53", IsNotFound: true}, "a.example does not resolve"},
		{&net.DNSError{Err: "i/o timeout", Name: "a.example", Server: "10.0.0.2:53", IsTimeout: true}, "a.example could not be resolved; this may be temporary"},
		{context.DeadlineExceeded, "no answer in time"},
		{errors.New(strings.Repeat("é", 150)), strings.Repeat("é", 100)},
		{errors.New("bad \xff byte"), "bad \uFFFD byte"},
		{&outbound.AddressError{}, "the host's address is not public"},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 443}, Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "no route to host"},
		{errors.New("read tcp 10.0.0.7:5123->[fd00::7]:443: use of closed network connection"), "read tcp an address->an address: use of closed network connection"},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a.example"}}, "the certificate is not accepted: it is for another host"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "the certificate is not accepted: it has expired, or is not valid yet"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}}, "the certificate is not accepted: it is not a valid certificate of a server"},
		{errors.New("malformed HTTP version \"HTTP/1.1.2\": dead beef: 12:30"), "malformed HTTP version \"HTTP/1.1.2\": dead beef: 12:30"},
	}
	for _, tt := range tests {
		if got := outbound.Explain(tt.err); got != tt.want {
			t.Errorf("Explain(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestReadBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("12345")) }))
	t.Cleanup(server.Close)
	c := outbound.New(outbound.Options{AllowLoopback: true})
	for limit, want := range map[int64]error{4: outbound.ErrTooLarge, 5: nil, 6: nil} {
		resp, err := get(t, c, server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := outbound.ReadBody(resp, limit)
		resp.Body.Close()
		if !errors.Is(err, want) {
			t.Errorf("limit %d: err = %v, want %v", limit, err, want)
		}
		if got, want := string(body), "12345"[:min(limit, 5)]; got != want {
			t.Errorf("limit %d: body = %q, want %q", limit, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		header string
		want   time.Duration
	}{
		{"", time.Minute},
		{"120", 2 * time.Minute},
		{"0", 0},
		{"-5", time.Minute},
		{"soon", time.Minute},
		{"99999999999", time.Hour},
		{"99999999999999999999999", time.Hour},
		{"00000000000000000000120", 2 * time.Minute},
		{" 120\t", 2 * time.Minute},
		{"+120", time.Minute},
		{"120, 600", time.Minute},
		{"1.2", 2 * time.Second},
		{"90.0", 90 * time.Second},
		{"1.", time.Minute},
		{".5", time.Minute},
		{"99999999999999999999999.5", time.Hour},
		{"Friday, 01-May-26 12:10:00 GMT", 10 * time.Minute},
		{"Fri May  1 12:10:00 2026", 10 * time.Minute},
		{"Fri, 01 May 2026 12:10:00 GMT", 10 * time.Minute},
		{"Fri, 01 May 2026 11:00:00 GMT", 0},
		{"Sat, 02 May 2026 12:00:00 GMT", time.Hour},
	}
	for _, tt := range tests {
		if got := outbound.RetryAfter(http.Header{"Retry-After": {tt.header}}, now, time.Minute, time.Hour); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.header, got, tt.want)
		}
	}
	several := http.Header{"Retry-After": {"soon", "60", "Fri, 01 May 2026 12:10:00 GMT", "0"}}
	if got, want := outbound.RetryAfter(several, now, time.Minute, time.Hour), 10*time.Minute; got != want {
		t.Errorf("of several: %s, want the longest, %s", got, want)
	}
}
