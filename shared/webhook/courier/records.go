package courier

import (
	"errors"
	"sync"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// These limit what is kept while records cannot be written.
const (
	maxOpen = 4096 // tasks of the Feed in progress; their payloads take at most 80 MB
	// maxKept limits the outcomes, of at most 50 kB each. There can be more only if more attempts were in flight when the writes began
	// to fail, because a failed write stops the attempts.
	maxKept = 4096
)

var errOpen = errors.New("too many deliveries wait for their records to be written")

// records makes sure that an attempt is recorded before it is made again. It knows the tasks in progress, and the outcomes of attempts
// that could not be recorded. And it remembers whether records can be written: for each company, because a partition may be throttled,
// and for the store as a whole, because a disk may be full.
type records struct {
	mu      sync.Mutex
	open    map[recordKey]*Task
	feeds   int // those of the Feed
	kept    map[recordKey]kept
	failing map[string]bool // companies whose last write failed
	last    string          // company of the last write of all, if it failed
	all     bool            // two companies' writes failed in a row
}

type recordKey struct{ company, key string }

// kept holds a delivery after an attempt, and the version of the record that it replaces, which is 0 if the Feed creates it.
type kept struct {
	delivery delivery.Delivery
	version  int64
}

func newRecords() *records {
	return &records{open: map[recordKey]*Task{}, kept: map[recordKey]kept{}, failing: map[string]bool{}}
}

func (t *Task) record() recordKey { return recordKey{t.Company.ID(), t.Key} }

// begin registers a task. If the same delivery is in progress, begin returns false, and a task of the Feed ends with the other one.
func (r *records) begin(t *Task) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	other := r.open[t.record()]
	switch {
	case other == nil:
		r.open[t.record()] = t
		if t.Source == Feed {
			r.feeds++
		}
	case t.Source == Feed:
		other.met = append(other.met, t.Done)
	}
	return other == nil
}

// end forgets a task, and returns the functions that get its outcome too.
func (r *records) end(t *Task) (met []func(Outcome)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[t.record()] != t { // it panicked before it was registered
		return nil
	}
	if t.Source == Feed {
		r.feeds--
	}
	delete(r.open, t.record())
	return t.met
}

// full reports whether no task of the Feed may be added that waits for a write.
func (r *records) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.feeds > maxOpen
}

// keep keeps the outcome of an attempt, unless there are too many. The next task of the delivery writes it.
func (r *records) keep(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < maxKept {
		r.kept[t.record()] = kept{t.Delivery, t.Version}
	}
}

// take gives a task the outcome that was kept of its delivery, and forgets it. ok is false if nothing was kept.
func (r *records) take(t *Task) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.kept[t.record()]
	if ok = ok && (t.Source == Feed) == (one.version == 0); ok {
		t.Delivery, t.Version = one.delivery, one.version
		delete(r.kept, t.record())
	}
	return ok
}

// wrote takes the result of a commit with a company's deliveries. A conflict counts as a success, because the store answered. A record
// that is too large tells nothing of the next one.
func (r *records) wrote(company string, err error) {
	if errors.Is(err, store.ErrTooLarge) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || errors.Is(err, store.ErrConflict) {
		delete(r.failing, company)
		r.last, r.all = "", false
		return
	}
	r.all = r.all || r.last != "" && r.last != company || len(r.failing) >= maxRemembered
	if r.last = company; len(r.failing) < maxRemembered {
		r.failing[company] = true
	}
}

// writable reports whether an attempt for a company may be made without a write before it. It returns false after a write
// of the company's deliveries failed, and after writes of two companies failed in a row, until a write succeeds. The outcome
// of an attempt could then probably not be recorded. So the attempt is made only after another write has succeeded.
func (r *records) writable(company string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.all && !r.failing[company]
}
