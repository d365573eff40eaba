package edge

import (
	"sync"
	"time"

	"orgops/shared/web"
)

// MaxBodies bounds the bytes of the bodies that a process has read and not yet answered, all together. Buffers that grow take up to
// twice as much.
const MaxBodies = 80 << 20

// bodyWait is the time for which a body waits for the others.
const bodyWait = 2 * time.Second

// Budget shares the memory for bodies in flight. Half of it is for requests with a token, shared among their companies, and half for
// those without, shared among the addresses that they come from. So strangers cannot keep companies out.
//
// In each half, a holder may have as much as is free. One holder alone gets half of it, two get a third each, and there is always
// room for another. A body that must wait first may take what is free, so that two large bodies do not wait for each other.
type Budget struct {
	companies, strangers pool
}

// NewBudget makes a budget of so many bytes.
func NewBudget(most int) *Budget {
	b := &Budget{}
	for _, p := range []*pool{&b.companies, &b.strangers} {
		p.most, p.held = most/2, map[string]int{}
	}
	return b
}

// Open implements web.Bodies.
func (b *Budget) Open(company, source string) web.Share {
	if company != "" {
		return &share{pool: &b.companies, holder: company}
	}
	return &share{pool: &b.strangers, holder: source}
}

// pool is one half.
type pool struct {
	most int

	mu      sync.Mutex
	taken   int
	held    map[string]int // by holder
	first   *share         // the body that may take all that is free
	changed chan struct{}  // closed when bytes are given back; nil if no body waits
}

// share counts one body. Only its request uses it.
type share struct {
	pool   *pool
	holder string
	taken  int
}

// Grow implements web.Share.
func (s *share) Grow(n int) bool {
	ok, changed := s.pool.take(s, n)
	if ok {
		return true
	}
	timeout := time.NewTimer(bodyWait)
	defer timeout.Stop()
	for {
		select {
		case <-changed:
		case <-timeout.C:
			return false
		}
		if ok, changed = s.pool.take(s, n); ok {
			return true
		}
	}
}

// Close implements web.Share.
func (s *share) Close() { s.pool.give(s) }

// take counts n bytes if the holder may have them. Otherwise it returns a channel that is closed when it is worth another try.
func (p *pool) take(s *share, n int) (ok bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.most - p.taken - n
	if free < 0 {
		return false, p.wait()
	}
	if p.held[s.holder]+n > free && p.first != s {
		if p.first != nil {
			return false, p.wait()
		}
		p.first = s
	}
	p.taken, s.taken = p.taken+n, s.taken+n
	p.held[s.holder] += n
	return true, nil
}

// wait returns the channel that the next give closes. The caller holds the lock.
func (p *pool) wait() <-chan struct{} {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

func (p *pool) give(s *share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.taken == 0 && p.first != s {
		return
	}
	p.taken -= s.taken
	if p.held[s.holder] -= s.taken; p.held[s.holder] == 0 {
		delete(p.held, s.holder)
	}
	if s.taken = 0; p.first == s {
		p.first = nil
	}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}
