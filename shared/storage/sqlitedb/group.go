package sqlitedb

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// errSpoiled reports a transaction that SQLite rolled back on its own.
var errSpoiled = errors.New("sqlite rolled the transaction back")

// commit runs the requests that were not withdrawn in one transaction and answers them.
func (w *writer) commit(group []*request) {
	live := group[:0]
	for _, r := range group {
		if r.state.CompareAndSwap(waiting, taken) {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return
	}
	w.try(live)
	for _, r := range live {
		r.done <- struct{}{}
	}
	w.call(&w.hooks) // last: Go runs first what was woken last, and a change should not wait for the answer to its request
}

// try runs requests in one transaction, or after two failures in one each.
func (w *writer) try(live []*request) {
	w.using.Lock()
	defer w.using.Unlock()
	err := w.transact(live)
	if err != nil {
		err = w.transact(live)
	}
	if err == nil || len(live) == 1 {
		return
	}
	// One of the requests spoiled the transaction, but it is unknown which. Each request now runs alone and gets its own
	// result. It gets two tries, because a unit may count on a second try.
	for i := range live {
		if one := live[i : i+1]; w.transact(one) != nil {
			_ = w.transact(one)
		}
	}
}

// transact runs requests in one transaction and sets the err of each. It returns an error if one of the requests made it
// roll back. If BEGIN or COMMIT fails, no request is at fault: the requests get the error, and transact returns nil.
func (w *writer) transact(live []*request) error {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		answer(live, classify(fmt.Errorf("begin: %w", err)))
		return nil
	}
	w.checkForeign()
	wrote, err := w.apply(live)
	if err != nil {
		w.rollback()
		answer(live, classify(err))
		return err
	}
	if !wrote {
		w.rollback()
		return nil
	}
	if err := w.exec("COMMIT"); err != nil {
		w.rollback()
		for _, r := range live {
			if r.wrote {
				r.err = fmt.Errorf("%w: %w", ErrUnknown, err)
			}
		}
		w.call(&w.foreign)
		return nil
	}
	for _, r := range live {
		if r.wrote {
			r.unit.Committed()
		}
	}
	return nil
}

// checkForeign calls the foreign hooks if another process has written. A version that cannot be read counts as a write.
func (w *writer) checkForeign() {
	version, err := w.dataVersion()
	if err == nil && version == w.version {
		return
	}
	w.version = version
	w.call(&w.foreign)
}

func (w *writer) dataVersion() (int64, error) {
	stmt, err := w.conn.Prepare("PRAGMA data_version")
	if err != nil {
		return 0, err
	}
	if _, err := stmt.Step(); err != nil {
		return 0, err
	}
	return stmt.ColumnInt64(0), stmt.Reset()
}

func (w *writer) apply(live []*request) (wrote bool, err error) {
	for _, r := range live {
		r.wrote = false
		if r.err = r.unit.Check(w.conn); r.err != nil {
			r.err = classify(r.err)
			continue
		}
		if err := r.unit.Apply(w.conn); err != nil {
			return false, err
		}
		r.wrote, wrote = true, true
	}
	if w.conn.AutocommitEnabled() {
		return false, errSpoiled
	}
	return wrote, nil
}

func answer(live []*request, err error) {
	for _, r := range live {
		r.err = err
	}
}

func (w *writer) rollback() {
	if !w.conn.AutocommitEnabled() {
		_ = w.exec("ROLLBACK")
	}
}

func (w *writer) exec(query string) error { return Exec(w.conn, query) }

// Exec runs a cached statement without parameters and rows.
func Exec(conn *sqlite.Conn, query string) error {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return err
	}
	return Step(stmt)
}

// Step runs a statement without rows and resets it.
func Step(stmt *sqlite.Stmt) error {
	if _, err := stmt.Step(); err != nil {
		return err
	}
	return stmt.Reset()
}
