package sqlitestore

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
)

// save stores the position if it has moved. While the consumer runs, the write waits a short time, to share a transaction
// with a commit.
func (c *consumer) save(ctx context.Context, last bool) {
	linger := saveEvery / 2
	if last {
		linger = 0
	}
	if at := c.finished(); at != c.saved && c.store.savePosition(ctx, c.name, at, linger) == nil {
		c.saved = at
	}
}

// savePosition stores a position under its own timeout, because it also runs after the consumer has ended. A position that
// was not stored only causes a replay.
func (s *Store) savePosition(ctx context.Context, consumer string, seq int64, linger time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.db.WriteLazily(ctx, setPosition(updatePosition, consumer, seq), linger)
}

const (
	insertPosition = `INSERT INTO position (consumer, seq) VALUES (?, ?) ON CONFLICT (consumer) DO NOTHING`
	updatePosition = `UPDATE position SET seq = ?2 WHERE consumer = ?1`
)

// setPosition returns a unit that runs one of the two statements above.
func setPosition(text, consumer string, seq int64) sqlitedb.Do {
	return func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(text)
		if err != nil {
			return err
		}
		stmt.BindText(1, consumer)
		stmt.BindInt64(2, seq)
		return sqlitedb.Step(stmt)
	}
}

// position returns the sequence up to which a consumer has finished everything.
func (s *Store) position(ctx context.Context, consumer string) (int64, error) {
	return s.integer(ctx, `SELECT seq FROM position WHERE consumer = ?`, consumer)
}
