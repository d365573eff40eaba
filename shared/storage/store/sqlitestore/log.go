package sqlitestore

import (
	"context"
	"math"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
)

// maxBatch limits the changes of a batch. maxBatchBytes limits the size of their bodies; only the last change may exceed it.
const (
	maxBatch      = 256
	maxBatchBytes = 2 << 20
)

// logged pairs a change with its sequence as a number. SQLite numbers a new row one above the greatest number, and Trim
// never removes the last row. The sequence therefore grows by one with each change, even if several processes write.
type logged struct {
	seq    int64
	size   int
	change store.Change
}

func newLogged(seq int64, c store.Change) logged {
	c.Sequence = store.Sequence(strconv.FormatInt(seq, 10))
	return logged{seq: seq, size: c.Size(), change: c}
}

const insertChange = `INSERT INTO change (company, sk, entity, at, old_version, new_version, old_body, new_body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

// record appends a change to the log.
func record(conn *sqlite.Conn, c store.Change) (logged, error) {
	stmt, err := conn.Prepare(insertChange)
	if err != nil {
		return logged{}, err
	}
	stmt.BindText(1, c.Company)
	stmt.BindText(2, c.Key)
	stmt.BindText(3, c.Entity)
	stmt.BindInt64(4, c.At.UnixMilli())
	for i, image := range []*store.Image{c.Old, c.New} {
		if image != nil { // unbound parameters are NULL
			stmt.BindInt64(5+i, image.Version)
			stmt.BindBytes(7+i, image.Body)
		}
	}
	if err := sqlitedb.Step(stmt); err != nil {
		return logged{}, err
	}
	return newLogged(conn.LastInsertRowID(), c), nil
}

const readChanges = `SELECT seq, company, sk, entity, at, old_version, new_version, old_body, new_body FROM change WHERE seq > ?1 AND seq <= ?2 AND ?3 IN ('', company) ORDER BY seq`

// readLog returns up to n changes after a sequence, up to and including the sequence last (0: to the end): those of a company, or of
// all if the company is "".
func (s *Store) readLog(ctx context.Context, company string, after, last int64, n int) ([]logged, error) {
	if last == 0 {
		last = math.MaxInt64
	}
	var page []logged
	err := s.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(readChanges)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, after)
		stmt.BindInt64(2, last)
		stmt.BindText(3, company)
		for size := 0; len(page) < n && size < maxBatchBytes; {
			more, err := stmt.Step()
			if err != nil || !more {
				return err
			}
			l := newLogged(stmt.ColumnInt64(0), scanChange(stmt))
			size += l.size
			page = append(page, l)
		}
		return stmt.Reset()
	})
	return page, contractError(err)
}

func scanChange(stmt *sqlite.Stmt) store.Change {
	c := store.Change{
		Company: stmt.ColumnText(1), Key: stmt.ColumnText(2), Entity: stmt.ColumnText(3),
		At: time.UnixMilli(stmt.ColumnInt64(4)).UTC(),
	}
	for i, image := range []**store.Image{&c.Old, &c.New} {
		if !stmt.ColumnIsNull(5 + i) {
			*image = &store.Image{Version: stmt.ColumnInt64(5 + i), Body: blob(stmt, 7+i)}
		}
	}
	return c
}

// latest returns the greatest sequence in the log, 0 for an empty log.
func (s *Store) latest(ctx context.Context) (int64, error) {
	return s.integer(ctx, `SELECT max(seq) FROM change`, "")
}

// integer queries one number. It returns 0 for no row and for NULL.
func (s *Store) integer(ctx context.Context, query, arg string) (n int64, err error) {
	err = s.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(query)
		if err != nil {
			return err
		}
		if stmt.BindParamCount() > 0 {
			stmt.BindText(1, arg)
		}
		if _, err := stmt.Step(); err != nil {
			return err
		}
		n = stmt.ColumnInt64(0)
		return stmt.Reset()
	})
	return n, contractError(err)
}
