// Package freeport finds free ports for programs that need a port number and cannot choose or report one themselves.
package freeport

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
)

// Find tries only ports below the ephemeral ranges (Linux from 32768, macOS from 49152). The system could give an ephemeral
// port to any connection before the program listens on it.
const (
	first = 20_000
	last  = 32_000
	tries = 100
)

// Find returns a port of 127.0.0.1 on which no program listens.
func Find(ctx context.Context) (int, error) {
	var err error
	for range tries {
		var random [2]byte
		_, _ = rand.Read(random[:]) // never returns an error
		port := first + int(binary.BigEndian.Uint16(random[:]))%(last-first)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d: %w", first, last, err)
}
