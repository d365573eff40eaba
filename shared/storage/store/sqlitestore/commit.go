package sqlitestore

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) error {
	if err := store.CheckOps(ops); err != nil {
		return err
	}
	c, again := s.commits.Get().(*commit)
	if !again {
		c = &commit{store: s}
	}
	c.ops, c.careful = ops, false
	err := s.write(ctx, c)
	if ctx.Err() == nil { // otherwise the writer may still hold c
		c.reset()
		s.commits.Put(c)
	}
	return contractError(err)
}

// patience sets how long a commit under store.Patiently waits for the commit of a request. It then costs no sync of its own.
const patience = 20 * time.Millisecond

func (s *Store) write(ctx context.Context, c *commit) error {
	switch {
	case !store.Patient(ctx):
		return s.db.Write(ctx, c)
	case store.Yields(ctx):
		return s.db.WriteLazily(ctx, c, 1)
	}
	return s.db.WriteLazily(ctx, c, patience)
}

// commit carries the ops of one Commit as a unit of the writer.
type commit struct {
	store   *Store
	ops     []store.Op
	now     time.Time
	careful bool    // look before every write, because an insert met an existing item
	found   []found // the stored row of each op
	changes []logged
}

// found describes the row of an op before its write.
type found struct {
	row     bool // the row exists
	live    bool // the item has not expired
	quiet   bool
	version int64
	entity  string
	body    []byte // read only if the change log needs it
}

func (c *commit) reset() {
	clear(c.found)
	clear(c.changes)
	c.ops, c.found, c.changes = nil, c.found[:0], c.changes[:0]
}

const lookItem = `SELECT version, expires, quiet, entity, body FROM item WHERE pk = ? AND sk = ?`

// Check implements sqlitedb.Unit. It reads the stored rows and tests the conditions. It does not look for an item that is to
// be created, because almost always there is no such item. If there is one, the insert fails, and the transaction runs again
// with careful set.
func (c *commit) Check(conn *sqlite.Conn) error {
	c.now = c.store.o.Now().UTC().Truncate(time.Millisecond)
	c.found, c.changes = c.found[:0], c.changes[:0]
	for i := range c.ops {
		op := &c.ops[i]
		if !c.careful && op.Condition == store.IfAbsent && op.Action == store.Put {
			c.found = append(c.found, found{})
			continue
		}
		f, err := look(conn, op, c.now)
		if err != nil {
			return err
		}
		holds := !f.live
		if op.Condition == store.IfVersion {
			holds = f.live && f.version == op.Version
		}
		if !holds {
			return &store.ConflictError{Index: i, Key: op.Key}
		}
		c.found = append(c.found, f)
	}
	return nil
}

func look(conn *sqlite.Conn, op *store.Op, now time.Time) (f found, err error) {
	stmt, err := conn.Prepare(lookItem)
	if err != nil {
		return f, err
	}
	stmt.BindText(1, op.Partition.String())
	stmt.BindText(2, op.Key)
	if f.row, err = stmt.Step(); err != nil || !f.row {
		return f, err
	}
	f.version, f.live, f.quiet = stmt.ColumnInt64(0), expiry.Live(expiry.Time(stmt.ColumnInt64(1)), now), stmt.ColumnBool(2)
	if op.Action != store.Check && (!op.Quiet || !f.live) {
		if _, feeds := op.Partition.CompanyID(); feeds {
			f.entity, f.body = stmt.ColumnText(3), blob(stmt, 4)
		}
	}
	return f, stmt.Reset()
}

// image returns the row as a change shows it.
func (f *found) image() *store.Image {
	if !f.row {
		return nil
	}
	return &store.Image{Version: f.version, Body: f.body}
}

// Apply implements sqlitedb.Unit.
func (c *commit) Apply(conn *sqlite.Conn) error {
	c.careful = true // for a second run of the transaction
	for i := range c.ops {
		op, f := &c.ops[i], &c.found[i]
		switch op.Action {
		case store.Check:
			continue
		case store.Delete:
			if err := remove(conn, op.Partition.String(), op.Key); err != nil {
				return err
			}
		default:
			if err := c.put(conn, op, f); err != nil {
				return err
			}
		}
		if err := c.log(conn, op, f); err != nil {
			return err
		}
	}
	return nil
}

const (
	insertItem = `INSERT INTO item (entity, version, at, expires, quiet, body, pk, sk) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	updateItem = `UPDATE item SET entity = ?, version = ?, at = ?, expires = ?, quiet = ?, body = ? WHERE pk = ? AND sk = ?`
	deleteItem = `DELETE FROM item WHERE pk = ? AND sk = ?`
)

func (c *commit) put(conn *sqlite.Conn, op *store.Op, f *found) error {
	text := insertItem
	if f.row {
		text = updateItem
	}
	stmt, err := conn.Prepare(text)
	if err != nil {
		return err
	}
	stmt.BindText(1, op.Entity)
	stmt.BindInt64(2, op.Version+1)
	stmt.BindInt64(3, c.now.UnixMilli())
	stmt.BindInt64(4, expiry.Seconds(op.Expires))
	stmt.BindBool(5, op.Quiet)
	stmt.BindBytes(6, op.Body)
	stmt.BindText(7, op.Partition.String())
	stmt.BindText(8, op.Key)
	return sqlitedb.Step(stmt)
}

func remove(conn *sqlite.Conn, pk, sk string) error {
	stmt, err := conn.Prepare(deleteItem)
	if err != nil {
		return err
	}
	stmt.BindText(1, pk)
	stmt.BindText(2, sk)
	return sqlitedb.Step(stmt)
}

// log records a change for the op, if the feed shows it. A quiet write over an expired, non-quiet item becomes the removal
// of the expired item.
func (c *commit) log(conn *sqlite.Conn, op *store.Op, f *found) error {
	company, feeds := op.Partition.CompanyID()
	expired := f.row && !f.live && !f.quiet
	if !feeds || op.Quiet && !expired || op.Action == store.Delete && !f.row {
		return nil
	}
	change := store.Change{Company: company, Key: op.Key, Entity: op.Entity, At: c.now, Old: f.image()}
	if op.Action == store.Put && !op.Quiet {
		change.New = &store.Image{Version: op.Version + 1, Body: op.Body}
	} else {
		change.Entity = f.entity
	}
	l, err := record(conn, change)
	c.changes = append(c.changes, l)
	return err
}

// Committed implements sqlitedb.Unit.
func (c *commit) Committed() {
	c.store.cache.wrote(c.ops, c.item)
	c.store.feed.add(c.changes)
}

// item returns the item that op i, a put, has stored.
func (c *commit) item(i int) store.Item {
	op := &c.ops[i]
	return store.Item{
		Key: op.Key, Entity: op.Entity, Version: op.Version + 1, At: c.now, Expires: expiry.Time(expiry.Seconds(op.Expires)), Body: op.Body,
	}
}
