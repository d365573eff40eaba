package wait

import "sync"

// Turns does work in the background: that of a key in the order in which it comes, one after the other, and that of several keys at
// once. So work that takes long delays its own key alone. The zero Turns is ready. It is safe for concurrent use.
type Turns[K comparable] struct {
	mu      sync.Mutex
	waiting map[K][]func() // the first is being done
}

// Do does the work after the key's earlier work, and returns at once.
func (t *Turns[K]) Do(key K, work func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[K][]func(){}
	}
	t.waiting[key] = append(t.waiting[key], work)
	if len(t.waiting[key]) == 1 {
		go t.run(key, work)
	}
}

// IsBusy reports whether work of a key is not done yet.
func (t *Turns[K]) IsBusy(key K) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting[key]) > 0
}

func (t *Turns[K]) run(key K, work func()) {
	for work != nil {
		work()
		work = t.next(key)
	}
}

// next removes the work that is done, and returns the next one of the key; nil after the last.
func (t *Turns[K]) next(key K) func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.waiting[key][1:]
	if len(rest) == 0 {
		delete(t.waiting, key)
		return nil
	}
	t.waiting[key] = rest
	return rest[0]
}
