package sqlitestore

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/sqlitedb"
	"orgops/shared/store"
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
	err := s.db.Write(ctx, c)
	if ctx.Err() == nil { // else the writer may still hold it
		c.reset()
		s.commits.Put(c)
	}
	return outside(err)
}

// commit is the unit of one Commit.
type commit struct {
	store   *Store
	ops     []store.Op
	now     time.Time
	careful bool    // look before every write: an insert that was hoped for has met an item
	found   []found // what is stored, for each op
	changes []logged
}

// found is the stored row of an op, before it.
type found struct {
	row     bool // there is one
	live    bool // and it has not expired
	quiet   bool
	version int64
	entity  string
	body    []byte // read only where the change log needs it
}

func (c *commit) reset() {
	clear(c.found)
	clear(c.changes)
	c.ops, c.found, c.changes = nil, c.found[:0], c.changes[:0]
}

const lookItem = `SELECT version, expires, quiet, entity, body FROM item WHERE pk = ? AND sk = ?`

// Check implements sqlitedb.Unit: it finds what is stored and compares it with the conditions. A new item is at first
// taken for new without looking, since almost all are; where that is wrong the insert fails, the transaction is run
// again, and then it looks.
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
	f.version, f.live, f.quiet = stmt.ColumnInt64(0), live(stmt.ColumnInt64(1), now), stmt.ColumnBool(2)
	if op.Action != store.Check && (!op.Quiet || !f.live) {
		if _, feeds := op.Partition.CompanyID(); feeds {
			f.entity, f.body = stmt.ColumnText(3), blob(stmt, 4)
		}
	}
	return f, stmt.Reset()
}

// image is what a change shows of the row.
func (f *found) image() *store.Image {
	if !f.row {
		return nil
	}
	return &store.Image{Version: f.version, Body: f.body}
}

// Apply implements sqlitedb.Unit.
func (c *commit) Apply(conn *sqlite.Conn) error {
	c.careful = true // for the next time, if there has to be one
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

// next is the version that a put makes: an expired item's count ends with it.
func next(f *found) int64 {
	if !f.live {
		return 1
	}
	return f.version + 1
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
	stmt.BindInt64(2, next(f))
	stmt.BindInt64(3, c.now.UnixMilli())
	stmt.BindInt64(4, seconds(op.Expires))
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

// log records what the op did, if the feed shows it. A quiet write over an expired item that was not quiet is that
// item's removal.
func (c *commit) log(conn *sqlite.Conn, op *store.Op, f *found) error {
	company, feeds := op.Partition.CompanyID()
	expired := f.row && !f.live && !f.quiet
	if !feeds || op.Quiet && !expired || op.Action == store.Delete && !f.row {
		return nil
	}
	change := store.Change{Company: company, Key: op.Key, Entity: op.Entity, At: c.now, Old: f.image()}
	if op.Action == store.Put && !op.Quiet {
		change.New = &store.Image{Version: next(f), Body: op.Body}
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

// item is what op i, a put, left in the store.
func (c *commit) item(i int) store.Item {
	op := &c.ops[i]
	return store.Item{
		Key: op.Key, Entity: op.Entity, Version: next(&c.found[i]), At: c.now, Expires: expiry(seconds(op.Expires)), Body: op.Body,
	}
}
