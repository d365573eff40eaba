package sqlitedb

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
)

// quiet sets the time without writes after which the writer moves the log into the database. A commit then rarely has to
// move the log.
const quiet = 200 * time.Millisecond

// These bound how lazy units delay others. A unit takes about 60 µs.
const (
	maxLazy    = 32 // lazy units in one transaction
	fewLazy    = 8  // the same, while units of Write keep coming
	lately     = 100 * time.Millisecond
	busyGroup  = 4 // units of Write with which lazy ones share a transaction
	maxOverdue = 20 * time.Millisecond
)

// Unit carries work that is written entirely or not at all. Units that wait at the same time share one transaction and one
// sync. Each unit sees the writes of the units before it. Only the writer calls the methods of a unit, one at a time. The
// methods must be short and must not wait.
type Unit interface {
	// Check reads whether the unit may be written. Write returns the error of Check; the other units are not affected.
	Check(conn *sqlite.Conn) error
	// Apply writes. An error rolls back the transaction. The writer then runs the units of the transaction again from Check:
	// first together and, if that fails, each in a separate transaction.
	Apply(conn *sqlite.Conn) error
	// Committed runs once the unit is durable, before Write returns, in commit order.
	Committed()
}

// Do adapts a function to a Unit without conditions.
type Do func(conn *sqlite.Conn) error

// Check implements Unit.
func (Do) Check(*sqlite.Conn) error { return nil }

// Apply implements Unit.
func (do Do) Apply(conn *sqlite.Conn) error { return do(conn) }

// Committed implements Unit.
func (Do) Committed() {}

// Write returns nil once the unit is durable, or the error that kept the unit from being written. If ctx ends while the unit
// waits, Write drops the unit and returns ctx's error. Once the unit's transaction has begun, Write waits for the outcome.
// After ErrUnavailable nothing was written. After ErrUnknown everything or nothing was written.
func (db *DB) Write(ctx context.Context, u Unit) error { return db.writer.submit(ctx, u, 0) }

// WriteLazily does the same as Write for a unit that may wait. Lazy units get a transaction of their own after the time linger,
// when no unit of Write waits. They join a transaction that already has several units of Write, or any if they have waited for long.
// A transaction takes at most maxLazy lazy units, so that a unit of Write does not wait for a long line of them.
func (db *DB) WriteLazily(ctx context.Context, u Unit, linger time.Duration) error {
	return db.writer.submit(ctx, u, linger)
}

// AfterCommit makes the writer call fn after each transaction, after the last Committed, until stop is called. Write may
// return before fn is called. fn must not wait.
func (db *DB) AfterCommit(fn func()) (stop func()) { return db.writer.hook(&db.writer.hooks, fn) }

// AfterForeign makes the writer call fn when a copy of the file's content in memory may be stale. At the start of each
// transaction the writer checks whether another process has written since the last one. It also calls fn after an
// ErrUnknown. fn must not wait.
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

// States of a request.
const (
	waiting int32 = iota
	taken
	withdrawn
)

// request carries a unit to write or a function to read with.
type request struct {
	unit  Unit
	read  func(*sqlite.Conn) error
	state atomic.Int32
	done  chan struct{}
	err   error // set before done
	wrote bool  // in the current transaction
}

type writer struct {
	using sync.Mutex // guards conn and ended
	conn  *sqlite.Conn
	ended bool // conn is closed

	requests sync.Pool
	wake     chan struct{} // holds one
	stopped  chan struct{}
	closeErr error // set before stopped
	version  int64 // PRAGMA data_version as of the last transaction; changes when another connection has written

	committed atomic.Int64 // end of the last transaction, Unix ns
	slow      atomic.Bool  // the writer is in a transaction of lazy units
	spare     []*request   // reused for reads; owned by the writer

	mu      sync.Mutex
	reads   []*request
	urgent  []*request // of Write
	lazy    []*request // of WriteLazily
	until   time.Time  // end of the shortest linger of lazy
	pressed time.Time  // when a transaction last took units of Write
	hooks   []*func()  // called after a transaction
	foreign []*func()  // called after a transaction of another process or of unknown outcome
	closed  bool
}

func newWriter(conn *sqlite.Conn) *writer {
	return &writer{conn: conn, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
}

// request returns a waiting request, new or reused.
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

// await waits for a request's result. If ctx ends before the writer has started the request, await withdraws the request.
func (w *writer) await(ctx context.Context, r *request) error {
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err() // the writer still holds r, so it is not reused
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
	var first bool // for the others the writer is awake, or will be in time
	if linger <= 0 {
		first = len(w.urgent) == 0
		w.urgent = append(w.urgent, r)
	} else {
		if until := time.Now().Add(linger); len(w.lazy) == 0 || until.Before(w.until) {
			w.until, first = until, true
		}
		w.lazy = append(w.lazy, r)
	}
	w.mu.Unlock()
	if first {
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

// close commits the waiting units and ends the writer.
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
			w.slow.Store(false)
			w.committed.Store(time.Now().UnixNano())
			clear(group)
			dirty = true
			// Goroutines that are ready to run go first. On a busy machine they bring more units, which then share a sync. On an
			// idle one none is ready.
			runtime.Gosched()
			continue
		}
		if !open {
			w.serveReads() // reads that came in just before the close
			w.checkpoint()
			w.end()
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

// take moves the requests of the next transaction into group. If none is due, wait is the time until one is, 0 if none waits.
func (w *writer) take(group []*request) (_ []*request, wait time.Duration, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if len(w.urgent) > 0 {
		w.pressed = now
	}
	n, wait := w.dueLazy(now)
	w.slow.Store(len(w.urgent) == 0 && n > 0)
	group = append(append(group, w.urgent...), w.lazy[:n]...)
	clear(w.urgent)
	w.urgent, w.lazy = w.urgent[:0], slices.Delete(w.lazy, 0, n)
	if len(group) > 0 {
		return group, 0, true
	}
	return group, wait, !w.closed
}

// dueLazy returns how many lazy units belong into the next transaction. If none does, wait is the time until one does, 0 if none waits.
func (w *writer) dueLazy(now time.Time) (n int, wait time.Duration) {
	n = min(len(w.lazy), w.mostLazy(now))
	if n == 0 {
		return 0, 0
	}
	wait = w.until.Sub(now)
	switch {
	case w.closed, len(w.urgent) >= busyGroup, wait < -maxOverdue:
		return n, 0
	case len(w.urgent) > 0:
		return 0, 0
	case wait > 0:
		return 0, wait
	}
	return n, 0
}

// mostLazy returns how many lazy units the next transaction may take. A unit of Write that comes during the transaction waits for them.
func (w *writer) mostLazy(now time.Time) int {
	if len(w.urgent) < busyGroup && now.Sub(w.pressed) < lately {
		return fewLazy
	}
	return maxLazy
}

// end closes the connection for the writer and for the readers that use it.
func (w *writer) end() {
	w.using.Lock()
	defer w.using.Unlock()
	w.closeErr = w.conn.Close()
	w.ended = true
}

// checkpoint moves the log into the database as far as readers permit; the rest moves the next time.
func (w *writer) checkpoint() {
	w.using.Lock()
	defer w.using.Unlock()
	_ = pragmas(w.conn, "PRAGMA wal_checkpoint(PASSIVE);")
}
