package parked

import (
	"context"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// working knows since when a consumer works on each batch that has not ended.
type working struct {
	mu    sync.Mutex
	next  int
	since map[int]time.Time
}

// watched returns handle with a record of each batch until its end.
func (w *working) watched(handle func(context.Context, store.Batch, func(error))) func(context.Context, store.Batch, func(error)) {
	return func(ctx context.Context, b store.Batch, done func(error)) {
		n := w.begin()
		b.Retries = func() { w.again(n) }
		handle(ctx, b, func(err error) {
			w.end(n)
			done(err)
		})
	}
}

func (w *working) begin() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	w.since[w.next] = time.Now()
	return w.next
}

// again restarts the time of a batch, which its consumer retries.
func (w *working) again(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, open := w.since[n]; open {
		w.since[n] = time.Now()
	}
}

func (w *working) end(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, n)
}

// longest returns the time for which the oldest batch has been worked on.
func (w *working) longest(now time.Time) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, since := range w.since {
		longest = max(longest, now.Sub(since))
	}
	return longest
}
