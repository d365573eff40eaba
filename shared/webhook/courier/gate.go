package courier

import (
	"errors"
	"sync"

	"orgops/shared/storage/store"
)

// gate remembers whether the records of deliveries can be written: for each company, because a partition may be throttled,
// and for the store as a whole, because a disk may be full.
type gate struct {
	mu      sync.Mutex
	failing map[string]bool // companies whose last write failed
	last    string          // company of the last write of all, if it failed
	all     bool            // two companies' writes failed in a row
}

func newGate() *gate { return &gate{failing: map[string]bool{}} }

func (g *gate) wrote(company string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.failing, company)
	g.last, g.all = "", false
}

func (g *gate) failed(company string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = g.all || g.last != "" && g.last != company || len(g.failing) >= maxRemembered
	if g.last = company; len(g.failing) < maxRemembered {
		g.failing[company] = true
	}
}

func (g *gate) open(company string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.all && !g.failing[company]
}

// Recorded takes the result of a commit with a company's deliveries. A conflict counts as a success, because the store
// answered.
func (c *Courier) Recorded(company string, err error) {
	if err == nil || errors.Is(err, store.ErrConflict) {
		c.records.wrote(company)
	} else {
		c.records.failed(company)
	}
}

// Recordable reports whether an attempt for a company may be made without a write before it. It returns false after a write
// of the company's deliveries failed, and after writes of two companies failed in a row, until a write succeeds. The outcome
// of an attempt could then probably not be recorded. A caller makes the attempt only after another write has succeeded.
func (c *Courier) Recordable(company string) bool { return c.records.open(company) }
