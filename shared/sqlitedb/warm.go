package sqlitedb

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"
)

// warm is for how long after a commit the readers' connections count as cold.
const warm = 50 * time.Millisecond

// ReadWarm is Read for a few rows. In WAL mode a reader forgets its cached pages whenever somebody has written, so that
// while writes are under way each read fetches its pages anew; the writer's own connection keeps them. ReadWarm therefore
// asks the writer, between two transactions, while commits are coming in, and reads beside it otherwise.
func (db *DB) ReadWarm(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	w := db.writer
	if time.Since(time.Unix(0, w.committed.Load())) > warm {
		return db.Read(ctx, fn)
	}
	if err := ctx.Err(); err != nil {
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

// serveReads runs the reads that wait. The connection is in no transaction, so they see every commit and nothing else.
func (w *writer) serveReads() {
	w.mu.Lock()
	reads := w.reads
	w.reads = w.spare[:0]
	w.mu.Unlock()
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
