package projector

import (
	"context"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// gathering collects the changes that have arrived and are not folded yet, by company and in feed order.
type gathering struct {
	arrived chan struct{} // holds a token while something may be waiting

	mu      sync.Mutex
	waiting map[string]*pile
	allowed allowance
	closed  error
}

// pile holds the waiting changes of one company and the batches that contain them.
type pile struct {
	changes []store.Change
	batches []*openBatch
}

// openBatch counts the unfinished companies of a batch.
type openBatch struct {
	open    int
	done    func(error)
	retries func() // nil: the feed does not limit the time of a batch
}

func newGathering() *gathering {
	return &gathering{arrived: make(chan struct{}, 1), waiting: map[string]*pile{}, allowed: allowance{}}
}

func (g *gathering) add(b store.Batch, done func(error)) {
	companies := byCompany(b.Changes)
	if len(companies) == 0 {
		done(nil)
		return
	}
	g.mu.Lock()
	closed := g.closed
	if closed == nil {
		batch := &openBatch{open: len(companies), done: done, retries: b.Retries}
		for company, changes := range companies {
			p := g.waiting[company]
			if p == nil {
				p = &pile{}
				g.waiting[company] = p
			}
			p.changes, p.batches = append(p.changes, changes...), append(p.batches, batch)
		}
	}
	g.mu.Unlock()
	if closed != nil {
		done(closed)
		return
	}
	g.wake()
}

func (g *gathering) wake() {
	select {
	case g.arrived <- struct{}{}:
	default:
	}
}

// wait returns true when something is waiting, and false when ctx has ended.
func (g *gathering) wait(ctx context.Context) bool {
	select {
	case <-g.arrived:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// take removes and returns what is waiting, except the changes of a company whose context was written often a moment ago. For them it
// wakes the worker later, unless all companies together have enough.
func (g *gathering) take(now time.Time) map[string]*pile {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed.forget(now)
	all := 0
	for _, p := range g.waiting {
		all += len(p.changes)
	}
	taken, next := map[string]*pile{}, time.Duration(0)
	for company, p := range g.waiting {
		if early := g.allowed.wait(company, now); early > 0 && all < enough {
			if next == 0 || early < next {
				next = early
			}
			continue
		}
		taken[company] = p
		delete(g.waiting, company)
	}
	if next > 0 {
		time.AfterFunc(next, g.wake)
	}
	return taken
}

// putBack returns a pile to its company, ahead of the changes that have arrived since it was taken.
func (g *gathering) putBack(company string, p *pile) {
	for _, b := range p.batches {
		if b.retries != nil {
			b.retries()
		}
	}
	g.mu.Lock()
	if later := g.waiting[company]; later != nil {
		p.changes, p.batches = append(p.changes, later.changes...), append(p.batches, later.batches...)
	}
	g.waiting[company] = p
	g.mu.Unlock()
	g.wake()
}

// finish records that a pile is folded. It calls done for each batch that has no other unfinished pile.
func (g *gathering) finish(p *pile) {
	var done []func(error)
	g.mu.Lock()
	for _, b := range p.batches {
		if b.open--; b.open == 0 {
			done = append(done, b.done)
		}
	}
	g.mu.Unlock()
	for _, d := range done {
		d(nil)
	}
}

// close ends every unfinished batch with err. Every batch that arrives later also ends with err.
func (g *gathering) close(err error) {
	g.mu.Lock()
	g.closed = err
	batches := map[*openBatch]bool{}
	for _, p := range g.waiting {
		for _, b := range p.batches {
			batches[b] = true
		}
	}
	g.mu.Unlock()
	for b := range batches {
		b.done(err)
	}
}
