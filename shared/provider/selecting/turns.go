package selecting

import "sync"

// Turns does work in the background: that of a company in the order in which it comes, one after the other, and that of several companies
// at once. So a company whose filters take long delays its own events alone. The zero Turns is ready. It is safe for concurrent use.
type Turns struct {
	mu      sync.Mutex
	waiting map[string][]func() // by company; the first is being done
}

// Do does the work after the company's earlier work, and returns at once.
func (t *Turns) Do(company string, work func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[string][]func(){}
	}
	t.waiting[company] = append(t.waiting[company], work)
	if len(t.waiting[company]) == 1 {
		go t.run(company, work)
	}
}

// IsBusy reports whether work of a company is not done yet.
func (t *Turns) IsBusy(company string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting[company]) > 0
}

func (t *Turns) run(company string, work func()) {
	for work != nil {
		work()
		work = t.next(company)
	}
}

// next removes the work that is done, and returns the next one of the company; nil after the last.
func (t *Turns) next(company string) func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.waiting[company][1:]
	if len(rest) == 0 {
		delete(t.waiting, company)
		return nil
	}
	t.waiting[company] = rest
	return rest[0]
}
