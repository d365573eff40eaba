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
	sweepPage    = 1000   // items looked at by one read
	sweepTurn    = 20_000 // items looked at by one turn in the background: every 30 s, that is 57 million a day
)

// maintain runs the upkeep in the background. What fails is tried again the next time.
func (s *Store) maintain(ctx context.Context) {
	tick := time.NewTicker(s.o.Upkeep)
	defer tick.Stop()
	var from place
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, from, _ = s.sweep(ctx, from, sweepTurn)
		_, _ = s.Trim(ctx)
	}
}

// place is a row of the item table: where a lap over it goes on. The zero place is its beginning.
type place struct{ pk, sk string }

// Sweep removes the items that have expired and returns how many there were. The removal of a company's item that was
// not quiet is a change in the feed: Old set, New nil.
//
// There is no index of expiry to find them by: it would cost every write more than looking at every item once in a
// while costs in all. An expired item is absent for readers from its second on; only its room is freed later.
func (s *Store) Sweep(ctx context.Context) (removed int, err error) {
	for from := (place{}); ; {
		n, next, err := s.sweep(ctx, from, sweepTurn)
		removed += n
		if from = next; err != nil || from == (place{}) {
			return removed, err
		}
	}
}

// sweep looks at up to most items behind from. next is where to go on, the zero place at the end of the table.
func (s *Store) sweep(ctx context.Context, from place, most int) (removed int, next place, err error) {
	for range most / sweepPage {
		var keys []place
		if keys, next, err = s.expired(ctx, from); err != nil {
			return removed, from, err
		}
		for ; len(keys) > 0; keys = keys[min(len(keys), upkeepBatch):] {
			u := &sweep{store: s, keys: keys[:min(len(keys), upkeepBatch)]}
			if err := s.db.WriteLazily(ctx, u, upkeepLinger); err != nil {
				return removed, from, outside(err)
			}
			removed += u.removed
		}
		if from = next; next == (place{}) {
			break
		}
	}
	return removed, next, nil
}

// expired looks at a page of items behind from and answers those that have expired, and where the page ended.
func (s *Store) expired(ctx context.Context, from place) (keys []place, next place, err error) {
	now := s.o.Now()
	seen := 0
	err = outside(s.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`SELECT pk, sk, expires FROM item WHERE (pk, sk) > (?, ?) ORDER BY pk, sk LIMIT ?`)
		if err != nil {
			return err
		}
		stmt.BindText(1, from.pk)
		stmt.BindText(2, from.sk)
		stmt.BindInt64(3, sweepPage)
		for {
			more, err := stmt.Step()
			if err != nil || !more {
				return err
			}
			seen++
			next = place{stmt.ColumnText(0), stmt.ColumnText(1)}
			if !live(stmt.ColumnInt64(2), now) {
				keys = append(keys, next)
			}
		}
	}))
	if seen < sweepPage {
		next = place{}
	}
	return keys, next, err
}

// sweep is the unit that removes items which were seen expired, if they still are.
type sweep struct {
	store   *Store
	keys    []place
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
		u.removed++
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
