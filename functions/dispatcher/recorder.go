package dispatcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/store"
)

// recorder writes the results of attempts: many in one transaction, because their order does not matter and nobody
// waits for one but the feed's position; or each by itself, several at a time.
type recorder struct {
	store    store.Store
	separate bool
	in       chan record
}

// record is one write, and whom to tell.
type record struct {
	op   store.Op
	done func(error)
}

// A transaction takes what has come in within the linger, up to the store's limit.
const (
	linger  = 4 * time.Millisecond
	backlog = 1024
	writers = 16 // at a time, each of one record
)

func newRecorder(s store.Store, separate bool) *recorder {
	return &recorder{store: s, separate: separate, in: make(chan record, backlog)}
}

func (r *recorder) put(rec record) { r.in <- rec }

// run writes until stop is closed, which is when nothing is left to be written.
func (r *recorder) run(ctx context.Context, stop <-chan struct{}) {
	var writing sync.WaitGroup
	defer writing.Wait()
	slots := make(chan struct{}, writers)
	for {
		select {
		case first := <-r.in:
			if !r.separate {
				r.write(ctx, r.gather(first))
				continue
			}
			slots <- struct{}{}
			writing.Go(func() {
				r.write(ctx, []record{first})
				<-slots
			})
		case <-stop:
			return
		}
	}
}

func (r *recorder) gather(first record) []record {
	records := append(make([]record, 0, store.MaxOps), first)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(records) < store.MaxOps {
		select {
		case next := <-r.in:
			records = append(records, next)
		case <-timer.C:
			return records
		}
	}
	return records
}

// write commits the records. One that is there already was recorded by an earlier turn at the same change: it is left
// out, and the others are written.
func (r *recorder) write(ctx context.Context, records []record) {
	seen := map[string]bool{}
	for len(records) > 0 {
		ops := make([]store.Op, 0, len(records))
		var again []record // the same item twice: one event handed over twice within the linger
		batch := records[:0:0]
		clear(seen)
		for _, rec := range records {
			key := rec.op.Partition.String() + "/" + rec.op.Key
			if seen[key] {
				again = append(again, rec)
				continue
			}
			seen[key] = true
			ops, batch = append(ops, rec.op), append(batch, rec)
		}
		err := r.store.Commit(ctx, ops...)
		var conflict *store.ConflictError
		if errors.As(err, &conflict) {
			batch[conflict.Index].done(nil)
			records = append(append(batch[:conflict.Index:conflict.Index], batch[conflict.Index+1:]...), again...)
			continue
		}
		for _, rec := range batch {
			rec.done(err)
		}
		records = again
	}
}
