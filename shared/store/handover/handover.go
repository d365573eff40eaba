// Package handover is what the drivers of the store's feed have in common: the count of the changes that a consumer was
// handed and has not finished, the order in which batches that failed come again, and the position up to which all is
// finished. It reads nothing and stores nothing.
package handover

import (
	"context"
	"sync"
	"time"

	"orgops/shared/store"
)

const (
	// firstBackoff is how long a batch that was not finished waits before it is handed over again; it doubles up to
	// lastBackoff.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// maxBytes bounds the bodies of what is handed out and not finished, whatever its count.
	maxBytes = 16 << 20
)

// Backoff is the pause after so many tries that failed: 100 ms, doubling up to 5 s.
func Backoff(tries int) time.Duration {
	return min(firstBackoff<<min(tries-1, 10), lastBackoff)
}

// Window is the batches that a consumer was handed and that are not behind a position, in one lane or several. P is a
// driver's position. One goroutine hands over; batches may be finished from any.
type Window[P any] struct {
	// Wake says that a batch ended, or what the driver tells by Signal: there may be something to hand over. Moved says that
	// a position moved. Each holds one.
	Wake, Moved chan struct{}

	handle func(context.Context, store.Batch, func(error))
	most   int

	mu     sync.Mutex
	lanes  []*Lane[P]
	open   int // changes handed out and not finished
	bytes  int // of their bodies
	failed int // batches that wait to be handed over again
}

// New makes a window of so many changes.
func New[P any](most int, handle func(context.Context, store.Batch, func(error))) *Window[P] {
	return &Window[P]{Wake: make(chan struct{}, 1), Moved: make(chan struct{}, 1), handle: handle, most: most}
}

// Signal puts a value into Wake or Moved unless there is one.
func Signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Batch is a run of a lane's changes on its way. The driver sets the exported fields before it is admitted.
type Batch[P any] struct {
	Changes []store.Change // nil when finished
	Replay  bool
	Last    P   // the position behind it
	Bytes   int // of the changes' bodies

	lane  *Lane[P]
	tries int
	again time.Time // when it failed: not handed over before
}

// Next is what to do now: to hand over a batch that failed before, to wait for the time of one, or to read up to room
// changes more. While a batch waits nothing else is handed over; with no room, the end of a batch wakes.
func (w *Window[P]) Next() (b *Batch[P], wait time.Duration, room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed > 0 {
		b, wait = w.retry()
	}
	return b, wait, w.room()
}

// Room is how many changes more may be handed over now: none while a batch waits to be handed over again.
func (w *Window[P]) Room() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room()
}

func (w *Window[P]) room() int {
	if w.failed > 0 || w.bytes >= maxBytes {
		return 0
	}
	return max(w.most-w.open, 0)
}

// retry is the first batch that failed, if its time has come, or else how long until then.
func (w *Window[P]) retry() (*Batch[P], time.Duration) {
	for _, l := range w.lanes {
		for _, b := range l.batches {
			if b.again.IsZero() {
				continue
			}
			if wait := time.Until(b.again); wait > 0 {
				return nil, wait
			}
			b.again, b.Replay = time.Time{}, true
			w.failed--
			return b, 0
		}
	}
	return nil, 0
}

// Failing reports whether a batch waits to be handed over again.
func (w *Window[P]) Failing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed > 0
}

// Hand gives a batch that was admitted to the consumer.
func (w *Window[P]) Hand(ctx context.Context, b *Batch[P]) {
	var once sync.Once
	w.handle(ctx, store.Batch{Changes: b.Changes, Replay: b.Replay}, func(err error) {
		once.Do(func() { w.finish(b, err) })
	})
}

// finish takes the end of a batch, good or bad.
func (w *Window[P]) finish(b *Batch[P], err error) {
	w.mu.Lock()
	if err != nil {
		b.tries++
		b.again = time.Now().Add(Backoff(b.tries))
		w.failed++
	} else {
		w.open -= len(b.Changes)
		w.bytes -= b.Bytes
		b.Changes = nil
	}
	moved := b.lane.advance()
	w.mu.Unlock()
	if moved {
		Signal(w.Moved)
	}
	Signal(w.Wake)
}

// Keep makes a batch that was admitted, and not handed over yet, wait with those that failed before it.
func (w *Window[P]) Keep(b *Batch[P]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.again = time.Now()
	w.failed++
}

// Drain waits until no batch is under way. Those that failed stay unfinished.
func (w *Window[P]) Drain() {
	for w.underWay() {
		<-w.Wake
	}
}

func (w *Window[P]) underWay() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		for _, b := range l.batches {
			if b.Changes != nil && b.again.IsZero() {
				return true
			}
		}
	}
	return false
}
