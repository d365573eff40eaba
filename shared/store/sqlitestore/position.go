package sqlitestore

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/sqlitedb"
)

// save stores the position now and then while it moves away from saved, and once more when stop closes.
func (c *consumer) save(ctx context.Context, stop <-chan struct{}, saved int64) {
	pause := time.NewTimer(0)
	for running := true; running; {
		select {
		case <-c.window.Moved:
		case <-stop:
			running = false
		}
		linger := saveEvery / 2
		if !running {
			linger = 0
		}
		if at, _ := c.lane.Position(); at != saved && c.store.savePosition(ctx, c.name, at, linger) == nil {
			saved = at
		}
		if !running {
			return
		}
		pause.Reset(saveEvery)
		select {
		case <-pause.C:
		case <-stop:
		}
	}
}

// savePosition stores a position within its own time, for it also runs when the consumer has ended. One that was not
// stored costs no more than a replay.
func (s *Store) savePosition(ctx context.Context, consumer string, seq int64, linger time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.db.WriteLazily(ctx, setPosition(updatePosition, consumer, seq), linger)
}

const (
	insertPosition = `INSERT INTO position (consumer, seq) VALUES (?, ?) ON CONFLICT (consumer) DO NOTHING`
	updatePosition = `UPDATE position SET seq = ?2 WHERE consumer = ?1`
)

// setPosition is the unit that runs one of the two statements above.
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

// position is how far a consumer has come: everything up to it is finished.
func (s *Store) position(ctx context.Context, consumer string) (int64, error) {
	return s.integer(ctx, `SELECT seq FROM position WHERE consumer = ?`, consumer)
}
