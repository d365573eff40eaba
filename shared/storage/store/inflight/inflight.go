// Package inflight tracks the changes that a feed consumer has received and not finished. It retries failed batches in
// order, and knows the position up to which every change is finished. The feed drivers share it; it does no I/O.
package inflight

import (
	"context"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

const (
	// firstBackoff delays the first retry of an unfinished batch; the delay doubles up to lastBackoff.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// maxBytes limits the total size of the bodies of the changes in flight.
	maxBytes = 16 << 20
)

// Backoff returns the pause after the given number of failed tries: 100 ms, doubling up to 5 s.
func Backoff(tries int) time.Duration {
	return min(firstBackoff<<min(tries-1, 10), lastBackoff)
}

// Window holds a consumer's batches in one or more tracks, until the position has passed them. P is the driver's type of a
// position. One goroutine hands batches over; any goroutine may finish them.
type Window[P any] struct {
	// Wake signals that there may be something to hand over: a batch ended, or the driver called Signal. Moved signals that a
	// position moved. Each buffers one value.
	Wake, Moved chan struct{}

	handle func(context.Context, store.Batch, func(error))
	most   int

	mu     sync.Mutex
	tracks []*Track[P]
	open   int             // changes in flight
	bytes  int             // size of their bodies
	held   map[string]load // the same by company
	failed int             // batches waiting for a retry
	number int             // of the last batch
}

// New returns a window of at most the given number of changes.
func New[P any](most int, handle func(context.Context, store.Batch, func(error))) *Window[P] {
	return &Window[P]{Wake: make(chan struct{}, 1), Moved: make(chan struct{}, 1), handle: handle, most: most, held: make(map[string]load)}
}

// Signal puts a value into Wake or Moved unless one is pending.
func Signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Batch carries consecutive changes of a track. The driver sets the exported fields before Admit.
type Batch[P any] struct {
	Changes []store.Change // nil when finished
	Replay  bool
	Last    P // the position after the batch

	track  *Track[P]
	number int // batches are retried in the order in which they were admitted
	tries  int
	again  time.Time // earliest retry; zero unless the batch failed or was kept
}

// Next returns the driver's next step: hand over the failed batch b, wait for the earliest retry, or read up to room more
// changes. While a batch waits for its retry, the driver hands over no other batch. If there is no room, Wake signals when a
// batch ends.
func (w *Window[P]) Next() (b *Batch[P], wait time.Duration, room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed > 0 {
		b, wait = w.retry()
	}
	return b, wait, w.room()
}

// Room returns how many more changes may be handed over now: 0 while a batch waits for a retry.
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

// retry returns the first failed batch if its retry is due, otherwise the time until then.
func (w *Window[P]) retry() (*Batch[P], time.Duration) {
	var first *Batch[P]
	for _, l := range w.tracks {
		for _, b := range l.batches {
			if !b.again.IsZero() && (first == nil || b.number < first.number) {
				first = b
			}
		}
	}
	if wait := time.Until(first.again); wait > 0 {
		return nil, wait
	}
	first.again, first.Replay = time.Time{}, true
	w.failed--
	return first, 0
}

// Failing reports whether a batch waits for a retry.
func (w *Window[P]) Failing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed > 0
}

// Hand passes an admitted batch to the consumer.
func (w *Window[P]) Hand(ctx context.Context, b *Batch[P]) {
	var once sync.Once
	w.handle(ctx, store.Batch{Changes: b.Changes, Replay: b.Replay}, func(err error) {
		once.Do(func() { w.finish(b, err) })
	})
}

// finish records the success or failure of a batch.
func (w *Window[P]) finish(b *Batch[P], err error) {
	w.mu.Lock()
	if err != nil {
		b.tries++
		b.again = time.Now().Add(Backoff(b.tries))
		w.failed++
	} else {
		w.count(b.Changes, -1)
		b.Changes = nil
	}
	moved := b.track.advance()
	w.mu.Unlock()
	if moved {
		Signal(w.Moved)
	}
	Signal(w.Wake)
}

// Keep queues an admitted batch behind the batches that failed before it. The driver has not handed the batch over yet.
func (w *Window[P]) Keep(b *Batch[P]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.again = time.Now()
	w.failed++
}

// Drain waits until no batch is in flight. Failed batches stay unfinished.
func (w *Window[P]) Drain() {
	for w.busy() {
		<-w.Wake
	}
}

func (w *Window[P]) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.tracks {
		for _, b := range l.batches {
			if b.Changes != nil && b.again.IsZero() {
				return true
			}
		}
	}
	return false
}
