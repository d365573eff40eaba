package courier

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
)

// writer stores the deliveries of the Feed: many in one transaction, because their order does not matter, and only the feed's position
// waits for them. If Deps.Separate is set, it stores each in its own transaction, several at a time. It
// keeps a delivery that it could not store, and tries again until the Feed ends, or until the store has refused it a few times.
type writer struct {
	store  store.Store
	logger *slog.Logger
	wrote  func(company string, err error) // gets the result of each try
	done   func(*Task, error)              // gets each task whose record is stored, or is not tried again
	in     chan write
	most   int // writes of a transaction
	atOnce int // transactions
}

type write struct {
	op    store.Op
	task  *Task
	tries int // failed ones
}

// These shape the transactions. A transaction takes the writes that arrive within the linger, up to the store's limit.
const (
	linger   = 4 * time.Millisecond
	buffered = 1024
	atATime  = 16 // concurrent transactions of one write each
)

func newWriter(d Deps) *writer {
	w := &writer{store: d.Store, logger: d.Logger, in: make(chan write, buffered), most: store.MaxOps, atOnce: 1}
	if d.Separate { // the goroutine of a delivery may wait, and a new process clears less memory
		w.in, w.most, w.atOnce = make(chan write, atATime), 1, atATime
	}
	return w
}

// run writes until stop is closed. The caller closes stop when no writes are left. Once ctx has ended, run tries each write
// at most once more.
func (w *writer) run(ctx context.Context, stop <-chan struct{}) {
	var writing sync.WaitGroup
	defer writing.Wait()
	room := make(chan struct{}, w.atOnce)
	for {
		room <- struct{}{}
		select {
		case first := <-w.in:
			all := w.gather(first)
			writing.Go(func() {
				w.commit(ctx, all)
				<-room
			})
		case <-stop:
			return
		}
	}
}

func (w *writer) gather(first write) []write {
	writes := append(make([]write, 0, w.most), first)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(writes) < w.most {
		select {
		case next := <-w.in:
			writes = append(writes, next)
		case <-timer.C:
			return writes
		}
	}
	return writes
}

// commit stores deliveries, each of another item. If a delivery exists already, because the same change was handled before,
// commit skips it. It halves what the store refuses, such as more bytes than a transaction holds, so that a record fails alone.
func (w *writer) commit(ctx context.Context, writes []write) {
	for len(writes) > 0 {
		ops := make([]store.Op, len(writes))
		for i, one := range writes {
			ops[i] = one.op
		}
		err := w.store.Commit(store.Patiently(context.WithoutCancel(ctx)), ops...)
		var conflict *store.ConflictError
		if errors.As(err, &conflict) {
			w.settle(ctx, writes[conflict.Index], nil)
			writes = slices.Delete(writes, conflict.Index, conflict.Index+1)
			continue
		}
		if half := len(writes) / 2; err != nil && half > 0 && refused(err) {
			w.commit(ctx, writes[:half])
			writes = writes[half:]
			continue
		}
		for _, one := range writes {
			w.settle(ctx, one, err)
		}
		return
	}
}

// refusals bounds the tries of a write that the store refuses.
const refusals = 4

// refused reports whether the store refuses a write for a reason that time does not remove, such as a missing right or table. The source
// then learns of it soon: a Lambda would be busy until its time limit, and its log would not tell why.
func refused(err error) bool {
	return !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown)
}

// settle ends a write, or tries it again later if it failed and the dispatcher goes on.
func (w *writer) settle(ctx context.Context, one write, err error) {
	company, _ := one.op.Partition.CompanyID()
	w.wrote(company, err)
	if err == nil || ctx.Err() != nil || one.tries+1 >= refusals && refused(err) {
		w.done(one.task, err)
		return
	}
	if one.tries == 0 {
		w.logger.WarnContext(ctx, "delivery not recorded; trying again", "company", company, "key", one.op.Key, "error", err)
	}
	one.tries++
	go func() {
		wait.For(ctx, backoff(one.tries))
		w.in <- one
	}()
}
