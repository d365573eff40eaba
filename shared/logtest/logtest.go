// Package logtest keeps what is written while a test reads it: a logger's lines, a program's output.
package logtest

import (
	"strings"
	"sync"
)

// Log is what was written. It is safe for concurrent use, and ready as it is.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String is everything that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
