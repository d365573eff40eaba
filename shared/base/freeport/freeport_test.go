package freeport_test

import (
	"net"
	"strconv"
	"testing"

	"orgops/shared/base/freeport"
)

// TestFind checks that a port can be listened on and is not an ephemeral one.
func TestFind(t *testing.T) {
	t.Parallel()
	taken := map[int]bool{}
	for range 50 {
		port, err := freeport.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if port >= 32_768 {
			t.Errorf("port %d, want one below 32768", port)
		}
		if taken[port] {
			t.Errorf("port %d again, want one that is not in use", port)
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		taken[port] = true
	}
}
