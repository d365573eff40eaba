// Package freeport finds ports for programs that have to be told one, and cannot say which one they took.
package freeport

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
)

// The ports that are tried lie below those that a system hands out by itself, Linux from 32768 on and macOS from 49152 on:
// one of these could be given to anybody, be it for a connection, before the program listens.
const (
	first = 20_000
	last  = 32_000
	tries = 100
)

// Find finds a port of 127.0.0.1 on which nobody listens.
func Find(ctx context.Context) (int, error) {
	var err error
	for range tries {
		var random [2]byte
		_, _ = rand.Read(random[:]) // it never errs
		port := first + int(binary.BigEndian.Uint16(random[:]))%(last-first)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d: %w", first, last, err)
}
