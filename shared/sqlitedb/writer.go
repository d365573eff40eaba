package sqlitedb

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

// quiet is how long nothing must have been written before the writer moves the log into the database on its own, so
// that a commit seldom has to.
const quiet = 200 * time.Millisecond

// Unit is work that is written whole or not at all. It shares its transaction, and so its sync, with the units that
// wait at the same time; each sees what those before it wrote. Its methods are called by the writer alone, never two
// at a time; they are short and wait for nobody.
type Unit interface {
	// Check reads whether the unit may be written. Its error is the unit's answer and leaves the others alone.
	Check(conn *sqlite.Conn) error
	// Apply writes. After an error nothing of the transaction counts: the writer rolls it back and runs its units again,
	// Check first, once more together and then each in a transaction of its own.
	Apply(conn *sqlite.Conn) error
	// Committed is called once the unit is durable, before it is answered, in the order of the commits.
	Committed()
}

// Do is a Unit without conditions.
type Do func(conn *sqlite.Conn) error

// Check implements Unit.
func (Do) Check(*sqlite.Conn) error { return nil }

// Apply implements Unit.
func (do Do) Apply(conn *sqlite.Conn) error { return do(conn) }

// Committed implements Unit.
func (Do) Committed() {}

// Write returns once the unit is durable, or answers why it was not written. When ctx ends while the unit waits, it is
// dropped and ctx's error returned; once its transaction has begun its outcome is awaited. An ErrUnavailable wrote
// nothing; an ErrUnknown wrote everything or nothing.
func (db *DB) Write(ctx context.Context, u Unit) error { return db.writer.submit(ctx, u, 0) }

// WriteLazily is Write for a unit that may linger: it rides along with the next transaction, or has one of its own
// when there was none for so long.
func (db *DB) WriteLazily(ctx context.Context, u Unit, linger time.Duration) error {
	return db.writer.submit(ctx, u, linger)
}

// AfterCommit has fn called by the writer after each transaction, between the last Committed and the answers, until
// stop is called. It must not wait.
func (db *DB) AfterCommit(fn func()) (stop func()) { return db.writer.hook(&db.writer.hooks, fn) }

// AfterForeign has fn called by the writer when it finds, at the start of a transaction, that another process has
// written since the last one, and after an ErrUnknown: what is remembered of the file may be out of date. It must not wait.
func (db *DB) AfterForeign(fn func()) (stop func()) { return db.writer.hook(&db.writer.foreign, fn) }

func (w *writer) hook(hooks *[]*func(), fn func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*hooks = append(slices.Clone(*hooks), &fn)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		*hooks = slices.DeleteFunc(slices.Clone(*hooks), func(h *func()) bool { return h == &fn })
	}
}

func (w *writer) call(hooks *[]*func()) {
	w.mu.Lock()
	list := *hooks
	w.mu.Unlock()
	for _, hook := range list {
		(*hook)()
	}
}

// The states of a request.
const (
	waiting int32 = iota
	taken
	withdrawn
)

// request is a unit to write, or something to read.
type request struct {
	unit  Unit
	read  func(*sqlite.Conn) error
	state atomic.Int32
	done  chan struct{}
	err   error // set before done
	wrote bool  // in the transaction under way
}

type writer struct {
	conn     *sqlite.Conn
	requests sync.Pool
	wake     chan struct{} // holds one
	stopped  chan struct{}
	closeErr error // set before stopped
	version  int64 // PRAGMA data_version as of the last transaction; it moves when another connection has written

	committed atomic.Int64 // when the last transaction ended, Unix ns
	spare     []*request   // for reads to grow into; the writer's alone

	mu      sync.Mutex
	reads   []*request
	queue   []*request
	urgent  bool      // queue holds one that does not linger
	until   time.Time // when the first of the lingering ones must go
	hooks   []*func() // after a transaction
	foreign []*func() // after another process's, or one of unknown outcome
	closed  bool
}

func newWriter(conn *sqlite.Conn) *writer {
	return &writer{conn: conn, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
}

// request is one that waits, new or used before.
func (w *writer) request() *request {
	r, again := w.requests.Get().(*request)
	if !again {
		r = &request{done: make(chan struct{}, 1)}
	}
	r.err = nil
	r.state.Store(waiting)
	return r
}

func (w *writer) submit(ctx context.Context, u Unit, linger time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := w.request()
	r.unit = u
	if err := w.enqueue(r, linger); err != nil {
		return err
	}
	return w.await(ctx, r)
}

// await waits for a request's answer. One that the writer has not begun when ctx ends is withdrawn.
func (w *writer) await(ctx context.Context, r *request) error {
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err() // the writer still holds r, so it is not used again
		}
		<-r.done
	}
	err := r.err
	r.unit, r.read = nil, nil
	w.requests.Put(r)
	return err
}

func (w *writer) enqueue(r *request, linger time.Duration) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	signal := false
	if linger <= 0 {
		signal = !w.urgent // whoever came first has woken the writer
		w.urgent = true
	} else if until := time.Now().Add(linger); len(w.queue) == 0 || !w.urgent && until.Before(w.until) {
		w.until, signal = until, true
	}
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	if signal {
		w.signal()
	}
	return nil
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close commits what waits and ends the writer.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.stopped
	return w.closeErr
}

func (w *writer) run() {
	defer close(w.stopped)
	timer := time.NewTimer(quiet)
	var group []*request
	dirty := true // an earlier process may have left a log
	for {
		var linger time.Duration
		var open bool
		w.serveReads()
		group, linger, open = w.take(group[:0])
		if len(group) > 0 {
			w.commit(group)
			w.committed.Store(time.Now().UnixNano())
			clear(group)
			dirty = true
			continue
		}
		if !open {
			w.serveReads() // those that came in just before
			w.checkpoint()
			w.closeErr = w.conn.Close()
			return
		}
		var expired <-chan time.Time
		if wait := cmp.Or(linger, quiet); linger > 0 || dirty {
			timer.Reset(wait)
			expired = timer.C
		}
		select {
		case <-w.wake:
		case <-expired:
			if linger == 0 {
				w.checkpoint()
				dirty = false
			}
		}
	}
}

// take moves what must go now into group. Otherwise wait says how long the lingering ones may still do so, 0 when
// there are none.
func (w *writer) take(group []*request) (_ []*request, wait time.Duration, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return group, 0, !w.closed
	}
	if !w.urgent && !w.closed {
		if wait = time.Until(w.until); wait > 0 {
			return group, wait, true
		}
	}
	group = append(group, w.queue...)
	clear(w.queue)
	w.queue, w.urgent = w.queue[:0], false
	return group, 0, true
}

// checkpoint moves the log into the database as far as no reader is in the way; what is left moves the next time.
func (w *writer) checkpoint() {
	_ = pragmas(w.conn, "PRAGMA wal_checkpoint(PASSIVE);")
}
