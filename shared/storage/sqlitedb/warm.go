package sqlitedb

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"
)

// warm limits the time after a commit during which the read connections count as cold.
const warm = 50 * time.Millisecond

// ReadWarm does the same as Read, for a few rows. In WAL mode a read connection drops its cached pages after every write,
// and must fetch them again. The writer's connection keeps its pages. Shortly after a commit, ReadWarm therefore reads on
// the writer's connection, between two transactions: at once if the connection is free. At other times, and during a transaction
// of lazy units, it calls Read.
func (db *DB) ReadWarm(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	w := db.writer
	if w.slow.Load() || time.Since(time.Unix(0, w.committed.Load())) > warm {
		return db.Read(ctx, fn)
	}
	return w.between(ctx, fn)
}

// between runs fn on the writer's connection, between two transactions.
func (w *writer) between(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ran, err := w.direct(fn); ran {
		return err
	}
	r := w.request()
	r.read = fn
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	w.reads = append(w.reads, r)
	first := len(w.reads) == 1
	w.mu.Unlock()
	if first {
		w.signal()
	}
	return w.await(ctx, r)
}

// direct runs fn on the caller's goroutine if the connection is free. To wake the writer's goroutine and wait for it takes longer
// than the read of a few rows.
func (w *writer) direct(fn func(conn *sqlite.Conn) error) (ran bool, err error) {
	if !w.using.TryLock() {
		return false, nil
	}
	defer w.using.Unlock()
	if w.ended {
		return true, ErrClosed
	}
	if err := fn(w.conn); err != nil {
		return true, classify(err)
	}
	return true, nil
}

// serveReads runs the waiting reads. The connection is in no transaction, so they see exactly the committed state.
func (w *writer) serveReads() {
	w.mu.Lock()
	reads := w.reads
	w.reads = w.spare[:0]
	w.mu.Unlock()
	w.using.Lock()
	defer w.using.Unlock()
	for _, r := range reads {
		if r.state.CompareAndSwap(waiting, taken) {
			if r.err = r.read(w.conn); r.err != nil {
				r.err = classify(r.err)
			}
			r.done <- struct{}{}
		}
	}
	clear(reads)
	w.spare = reads
}
