package sqlitestore

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// Limits of upkeep. Its small units wait up to upkeepLinger to share the transaction of a commit, so no commit waits for
// upkeep.
const (
	upkeepBatch  = 100
	upkeepLinger = 20 * time.Millisecond
	sweepPage    = 1000   // items per read
	sweepTurn    = 20_000 // items per background turn: at one turn in 30 s, 57 million a day
)

// maintain runs upkeep in the background. If a turn fails, the next turn tries again.
func (s *Store) maintain(ctx context.Context) {
	tick := time.NewTicker(s.o.Upkeep)
	defer tick.Stop()
	var from int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		from, _ = s.sweep(ctx, from, sweepTurn)
		_, _ = s.Trim(ctx)
	}
}

// rowKey names an item.
type rowKey struct{ pk, sk string }

// sweep examines up to most items after the row id from, and removes the expired ones. The next sweep continues after the row
// id next, which is 0 at the end of the table. The feed shows the removal of a company's non-quiet item as a change with Old
// set and New nil.
//
// The table has no index on expiry. An index would make every write cost more, and more in all than a sweep of every item
// now and then. Readers do not see an expired item from its expiry second on; the sweep only frees its space.
func (s *Store) sweep(ctx context.Context, from int64, most int) (next int64, err error) {
	for range most / sweepPage {
		var keys []rowKey
		if keys, next, err = s.expired(ctx, from); err != nil {
			return from, err
		}
		for ; len(keys) > 0; keys = keys[min(len(keys), upkeepBatch):] {
			u := &sweep{store: s, keys: keys[:min(len(keys), upkeepBatch)]}
			if err := s.db.WriteLazily(ctx, u, upkeepLinger); err != nil {
				return from, contractError(err)
			}
		}
		if from = next; next == 0 {
			break
		}
	}
	return next, nil
}

// expired examines a page of items after the row id from. It returns the expired ones and the row id at which the page ended.
func (s *Store) expired(ctx context.Context, from int64) (keys []rowKey, next int64, err error) {
	now := s.o.Now()
	seen := 0
	err = contractError(s.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`SELECT id, pk, sk, expires FROM item WHERE id > ? ORDER BY id LIMIT ?`)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, from)
		stmt.BindInt64(2, sweepPage)
		for {
			more, err := stmt.Step()
			if err != nil || !more {
				return err
			}
			seen++
			next = stmt.ColumnInt64(0)
			if !expiry.Live(expiry.Time(stmt.ColumnInt64(3)), now) {
				keys = append(keys, rowKey{stmt.ColumnText(1), stmt.ColumnText(2)})
			}
		}
	}))
	if seen < sweepPage {
		next = 0
	}
	return keys, next, err
}

// sweep removes items that were found expired, unless they have been replaced since.
type sweep struct {
	store   *Store
	keys    []rowKey
	changes []logged
}

// Check implements sqlitedb.Unit.
func (u *sweep) Check(*sqlite.Conn) error {
	u.changes = nil
	return nil
}

// Apply implements sqlitedb.Unit.
func (u *sweep) Apply(conn *sqlite.Conn) error {
	now := u.store.o.Now().UTC().Truncate(time.Millisecond)
	for _, key := range u.keys {
		partition, _ := store.Restore(key.pk)
		f, err := look(conn, &store.Op{Partition: partition, Key: key.sk}, now)
		if err != nil {
			return err
		}
		if !f.row || f.live {
			continue
		}
		if err := remove(conn, key.pk, key.sk); err != nil {
			return err
		}
		company, feeds := partition.CompanyID()
		if !feeds || f.quiet {
			continue
		}
		l, err := record(conn, store.Change{Company: company, Key: key.sk, Entity: f.entity, At: now, Old: f.image()})
		if err != nil {
			return err
		}
		u.changes = append(u.changes, l)
	}
	return nil
}

// Committed implements sqlitedb.Unit.
func (u *sweep) Committed() { u.store.feed.add(u.changes) }

// Trim removes changes that are older than the retention and behind every consumer, and returns their number. It always
// keeps the newest change, because the next sequence follows from it.
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
			return removed, contractError(err)
		}
		removed += n
	}
}

// oldest finds the first changes up to end that are older than the retention, at most upkeepBatch. It returns their number
// and the sequence of the last one.
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
	return n, last, contractError(err)
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
