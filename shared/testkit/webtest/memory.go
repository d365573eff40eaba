package webtest

import (
	"sync/atomic"

	"orgops/shared/web"
)

// Memory counts the bytes of the bodies in flight. It refuses none, unless a test stores in Most how many all may have.
type Memory struct {
	Most atomic.Int64 // 0: no limit
	held atomic.Int64
}

// Open implements web.Bodies.
func (m *Memory) Open(string, string) web.Share { return &held{Memory: m} }

// Held returns how many bytes are held.
func (m *Memory) Held() int64 { return m.held.Load() }

type held struct {
	*Memory
	taken int64
}

// Grow implements web.Share.
func (h *held) Grow(n int) bool {
	h.taken += int64(n)
	all, most := h.held.Add(int64(n)), h.Most.Load()
	return most == 0 || all <= most
}

// Close implements web.Share.
func (h *held) Close() { h.held.Add(-h.taken) }
