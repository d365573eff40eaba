package sqlitestore

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/sqlitedb"
	"orgops/shared/store"
)

// Upkeep works in small transactions, each of which waits for a commit to ride along with, so that it is never what a
// commit waits for.
const (
	upkeepBatch  = 100
	upkeepLinger = 20 * time.Millisecond
)

// maintain runs the upkeep in the background. What fails is tried again the next time.
func (s *Store) maintain(ctx context.Context) {
	tick := time.NewTicker(s.o.Upkeep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, _ = s.Sweep(ctx)
		_, _ = s.Trim(ctx)
	}
}

// Sweep removes the items that have expired and returns how many there were. The removal of a company's item that was
// not quiet is a change in the feed: Old set, New nil.
func (s *Store) Sweep(ctx context.Context) (removed int, err error) {
	for {
		u := &sweep{store: s}
		if err := s.expired(ctx, u); err != nil || len(u.keys) == 0 {
			return removed, err
		}
		if err := s.db.WriteLazily(ctx, u, upkeepLinger); err != nil {
			return removed, outside(err)
		}
		removed += u.removed
	}
}

// expired finds the items that expired first.
func (s *Store) expired(ctx context.Context, u *sweep) error {
	now := s.o.Now().Unix()
	return outside(s.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`SELECT pk, sk FROM item WHERE expires > 0 AND expires <= ? ORDER BY expires LIMIT ?`)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, now)
		stmt.BindInt64(2, upkeepBatch)
		for {
			more, err := stmt.Step()
			if err != nil || !more {
				return err
			}
			u.keys = append(u.keys, [2]string{stmt.ColumnText(0), stmt.ColumnText(1)})
		}
	}))
}

// sweep is the unit that removes items which were seen expired, if they still are.
type sweep struct {
	store   *Store
	keys    [][2]string // pk, sk
	changes []logged
	removed int
}

// Check implements sqlitedb.Unit.
func (u *sweep) Check(*sqlite.Conn) error {
	u.changes, u.removed = nil, 0
	return nil
}

// Apply implements sqlitedb.Unit.
func (u *sweep) Apply(conn *sqlite.Conn) error {
	now := u.store.o.Now().UTC().Truncate(time.Millisecond)
	for _, key := range u.keys {
		partition, _ := store.Restore(key[0])
		f, err := look(conn, &store.Op{Partition: partition, Key: key[1]}, now)
		if err != nil {
			return err
		}
		if !f.row || f.live {
			continue
		}
		if err := remove(conn, key[0], key[1]); err != nil {
			return err
		}
		u.removed++
		company, feeds := partition.CompanyID()
		if !feeds || f.quiet {
			continue
		}
		l, err := record(conn, store.Change{Company: company, Key: key[1], Entity: f.entity, At: now, Old: f.image()})
		if err != nil {
			return err
		}
		u.changes = append(u.changes, l)
	}
	return nil
}

// Committed implements sqlitedb.Unit.
func (u *sweep) Committed() { u.store.feed.add(u.changes) }

// Trim removes changes older than the retention that every consumer is past, and returns how many there were. The
// newest change always stays: the next one's sequence follows from it.
func (s *Store) Trim(ctx context.Context) (removed int, err error) {
	if len(s.o.Consumers) == 0 {
		return 0, nil
	}
	end, err := s.latest(ctx)
	if err != nil {
		return 0, err
	}
	end--
	for _, name := range s.o.Consumers {
		position, err := s.position(ctx, name)
		if err != nil {
			return 0, err
		}
		end = min(end, position)
	}
	for {
		n, last, err := s.oldest(ctx, end)
		if err != nil || n == 0 {
			return removed, err
		}
		if err := s.db.WriteLazily(ctx, trim(last), upkeepLinger); err != nil {
			return removed, outside(err)
		}
		removed += n
	}
}

// oldest finds the first changes up to end that are older than the retention: how many, and the last of them.
func (s *Store) oldest(ctx context.Context, end int64) (n int, last int64, err error) {
	before := s.o.Now().Add(-s.o.Retention).UnixMilli()
	err = s.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`SELECT seq, at FROM change WHERE seq <= ? ORDER BY seq LIMIT ?`)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, end)
		stmt.BindInt64(2, upkeepBatch)
		for {
			more, err := stmt.Step()
			if err != nil || !more {
				return err
			}
			if stmt.ColumnInt64(1) > before {
				return stmt.Reset()
			}
			n, last = n+1, stmt.ColumnInt64(0)
		}
	})
	return n, last, outside(err)
}

func trim(last int64) sqlitedb.Do {
	return func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`DELETE FROM change WHERE seq <= ?`)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, last)
		return sqlitedb.Step(stmt)
	}
}
