package outbound_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// TestExplain_Servers explains the answers of servers that misbehave, in words and without the texts of Go's packages.
func TestExplain_Servers(t *testing.T) {
	t.Parallel()
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	const goaway = "\x00\x00\x0e\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x0b" + "s3cret"
	const reset = "\x00\x00\x04\x03\x00\x00\x00\x00\x01" + "\x00\x00\x00\x02"
	ended := "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
	tests := []struct {
		name, url, want string
	}{
		{"GOAWAY", h2(t, settings+goaway), "the server closed the connection before it answered (HTTP/2 GOAWAY)"},
		{"a reset stream", h2(t, settings+reset), "the server ended the request without an answer (HTTP/2 RST_STREAM)"},
		{"no HTTP/2", h2(t, "HTTP/1.1 200 OK\r\n\r\n"), "the server broke off the answer, or sent one that is not valid HTTP/2, or whose header is larger than 32 KiB"},
		{"too large a header", raw(t, "HTTP/1.1 200 OK\r\nBig: "+strings.Repeat("x", 64<<10)+"\r\n\r\n"), "the answer's header is larger than 32 KiB"},
		{"no HTTP", raw(t, "SSH-2.0-OpenSSH_9.9\r\n\r\n"), "the answer is not valid HTTP"},
		{"a broken length", raw(t, "HTTP/1.1 200 OK\r\nContent-Length: s3cret\r\n\r\n"), "the answer is not valid HTTP"},
		{"two lengths", raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "the answer is not valid HTTP"},
		{"an unknown transfer coding", raw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: s3cret\r\n\r\nab"), "the answer is not valid HTTP"},
		{"a broken chunk", raw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "the answer is not valid HTTP"},
		{"an answer that ends early", raw(t, ended), "the connection was closed before the answer ended"},
		{"nothing", raw(t, ""), "the connection was closed before the answer ended"},
		{"TLS at an http url", raw(t, "\x15\x03\x01\x00\x02\x02\x46\n"), "the server answers with TLS; configure an https url"},
		{"HTTP at an https url", "https" + strings.TrimPrefix(raw(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "http"), "the server answers without TLS; check the scheme and the port of the url"},
		{"an unknown authority", trusted(t, &tls.Config{}), "the certificate is not accepted: its authority is unknown; use a public one, or have the operator of the service add yours"},
		{"an old TLS", trusted(t, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}), "the server offers no TLS version from 1.2 on"},
		{"a closed port", closed(t), "connection refused"},
	}
	roots := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(certificate(t).Certificate[0])
	errtest.Must(t, err)
	roots.AddCert(leaf)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := outbound.Options{AllowLoopback: true}
			if tt.name != "an unknown authority" {
				opts.RootCAs = roots
			}
			resp, err := get(t, outbound.New(opts), tt.url)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Fatal("no error, want one")
			}
			if got := outbound.Explain(err); got != tt.want {
				t.Errorf("explained as %q, want %q (%v)", got, tt.want, err)
			}
		})
	}
}

// listen serves each connection in its own goroutine until the test ends.
func listen(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// raw answers every request by a text.
func raw(t *testing.T, answer string) (url string) {
	t.Helper()
	return "http://" + listen(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4<<10))
		_, _ = io.WriteString(conn, answer)
	})
}

// certificate returns that of httptest, which only these tests trust.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0]
}

// asked reads an HTTP/2 connection until a request has begun: what is sent of a stream before that is ignored.
func asked(conn io.Reader) {
	const preface, frameHeader, headers = 24, 9, 1 // RFC 9113 §3.4, §4.1 and §6.2
	if _, err := io.CopyN(io.Discard, conn, preface); err != nil {
		return
	}
	for frame := make([]byte, frameHeader); ; {
		if _, err := io.ReadFull(conn, frame); err != nil || frame[3] == headers {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(frame[0])<<16|int64(frame[1])<<8|int64(frame[2])); err != nil {
			return
		}
	}
}

// h2 answers the first request of every HTTP/2 connection by a text.
func h2(t *testing.T, answer string) (url string) {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{certificate(t)}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	return "https://" + listen(t, func(conn net.Conn) {
		secure := tls.Server(conn, config)
		asked(secure)
		_, _ = io.WriteString(secure, answer)
		_, _ = io.Copy(io.Discard, secure)
	})
}

// trusted serves TLS.
func trusted(t *testing.T, config *tls.Config) (url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// closed returns a port at which nothing listens.
func closed(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	defer l.Close()
	return "http://" + l.Addr().String()
}
