package dispatcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// writer stores deliveries. If separate is false, it stores many in one transaction: their order does not matter, and only
// the feed's position waits for them. If separate is true, it stores each in its own transaction, several at a time.
type writer struct {
	store    store.Store
	separate bool
	in       chan write
}

// write holds the record of one delivery, and the function to call when it is stored.
type write struct {
	op   store.Op
	done func(error)
}

// These shape the transactions. A transaction takes the writes that arrive within the linger, up to the store's limit.
const (
	linger  = 4 * time.Millisecond
	backlog = 1024
	atATime = 16 // concurrent transactions of one write each
)

func newWriter(s store.Store, separate bool) *writer {
	return &writer{store: s, separate: separate, in: make(chan write, backlog)}
}

func (w *writer) put(one write) { w.in <- one }

// run writes until stop is closed. The caller closes stop when no writes are left.
func (w *writer) run(ctx context.Context, stop <-chan struct{}) {
	var writing sync.WaitGroup
	defer writing.Wait()
	slots := make(chan struct{}, atATime)
	for {
		select {
		case first := <-w.in:
			if !w.separate {
				w.commit(ctx, w.gather(first))
				continue
			}
			slots <- struct{}{}
			writing.Go(func() {
				w.commit(ctx, []write{first})
				<-slots
			})
		case <-stop:
			return
		}
	}
}

func (w *writer) gather(first write) []write {
	writes := append(make([]write, 0, store.MaxOps), first)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(writes) < store.MaxOps {
		select {
		case next := <-w.in:
			writes = append(writes, next)
		case <-timer.C:
			return writes
		}
	}
	return writes
}

// commit stores deliveries. If a delivery exists already, because the same change was handled before, commit skips it.
func (w *writer) commit(ctx context.Context, writes []write) {
	seen := map[string]bool{}
	for len(writes) > 0 {
		ops := make([]store.Op, 0, len(writes))
		var again []write // duplicates of an item: an event redelivered within the linger
		batch := writes[:0:0]
		clear(seen)
		for _, one := range writes {
			key := one.op.Partition.String() + "/" + one.op.Key
			if seen[key] {
				again = append(again, one)
				continue
			}
			seen[key] = true
			ops, batch = append(ops, one.op), append(batch, one)
		}
		err := w.store.Commit(ctx, ops...)
		var conflict *store.ConflictError
		if errors.As(err, &conflict) {
			batch[conflict.Index].done(nil)
			writes = append(append(batch[:conflict.Index:conflict.Index], batch[conflict.Index+1:]...), again...)
			continue
		}
		for _, one := range batch {
			one.done(err)
		}
		writes = again
	}
}
