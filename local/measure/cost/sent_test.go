package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"orgops/shared/testkit/errtest"
)

// counted is a listener that counts the bytes that its connections receive.
type counted struct {
	net.Listener
	received *atomic.Int64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	return receiving{conn, c.received}, err
}

type receiving struct {
	net.Conn
	received *atomic.Int64
}

func (r receiving) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.received.Add(int64(n))
	return n, err
}

// TestSent measures what a delivery and a fetch send over a new connection with TLS.
func TestSent(t *testing.T) {
	t.Parallel()
	const packets, header = 12, 52 // handshakes, the request, acknowledgements and the end; IP and TCP with timestamps
	tests := []struct {
		name, method string
		body         int // bytes: a delivery's payload of a memory, with its headers
		want         float64
	}{
		{"delivery", http.MethodPost, 1700, delivered},
		{"fetch", http.MethodGet, 300, fetched},
	}
	for _, tt := range tests {
		var received atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
		server.Listener = counted{server.Listener, &received}
		server.StartTLS()
		request, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL, bytes.NewReader(make([]byte, tt.body)))
		errtest.Must(t, err)
		response, err := server.Client().Do(request)
		errtest.Must(t, err)
		errtest.Must(t, response.Body.Close())
		server.Close()
		got := float64(received.Load()+packets*header) / kB
		t.Logf("%s: %.2f kB", tt.name, got)
		if got > tt.want {
			t.Errorf("%s: %.2f kB sent, want %g at most", tt.name, got, tt.want)
		}
		if got < tt.want*0.75 {
			t.Errorf("%s: %.2f kB sent, want %g at least, or the bill is too high", tt.name, got, tt.want*0.75)
		}
	}
}
