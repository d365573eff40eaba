package sqlitedb

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// errSpoiled stands for a transaction that SQLite ended by itself.
var errSpoiled = errors.New("sqlite rolled the transaction back")

// commit runs the requests that are still wanted in one transaction and answers them.
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
	err := w.transact(live)
	if err != nil {
		err = w.transact(live)
	}
	if err != nil && len(live) > 1 {
		// One of them spoiled it, and which is not known: alone, each answers for itself, and each has the second try that
		// a unit may count on.
		for i := range live {
			if one := live[i : i+1]; w.transact(one) != nil {
				_ = w.transact(one)
			}
		}
	}
	w.call(&w.hooks)
	for _, r := range live {
		r.done <- struct{}{}
	}
}

// transact runs requests in one transaction and sets each one's err. It returns an error when the transaction was
// rolled back because of one of them; a BEGIN or COMMIT that fails is nobody's and is the answer of all.
func (w *writer) transact(live []*request) error {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		answer(live, classify(fmt.Errorf("begin: %w", err)))
		return nil
	}
	w.lookAround()
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

// lookAround finds out whether another process has written. A version that cannot be read counts as yes.
func (w *writer) lookAround() {
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

// Exec runs a cached statement that has no parameters and gives no rows.
func Exec(conn *sqlite.Conn, query string) error {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return err
	}
	return Step(stmt)
}

// Step runs a statement that gives no rows and frees what it held.
func Step(stmt *sqlite.Stmt) error {
	if _, err := stmt.Step(); err != nil {
		return err
	}
	return stmt.Reset()
}
