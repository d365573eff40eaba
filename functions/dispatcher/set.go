package dispatcher

import "sync"

// set remembers what this process has done, up to a number. Then it forgets all: to do it again is harmless.
type set[K comparable] struct {
	most int

	mu    sync.Mutex
	known map[K]bool
}

func newSet[K comparable](most int) *set[K] { return &set[K]{most: most, known: map[K]bool{}} }

func (s *set[K]) has(k K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[k]
}

func (s *set[K]) add(all ...K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known)+len(all) > s.most {
		clear(s.known)
	}
	for _, k := range all {
		s.known[k] = true
	}
}
