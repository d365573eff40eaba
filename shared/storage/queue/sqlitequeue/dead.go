package sqlitequeue

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/sqlitedb"
)

// redriveBatch limits the messages that one transaction of Redrive moves.
const redriveBatch = 200

// Bury implements queue.Queue. It ignores a receipt whose message was redelivered.
func (q *Queue) Bury(ctx context.Context, r queue.Received, reason string) error {
	return contractError(q.db.Write(ctx, sqlitedb.Do(func(conn *sqlite.Conn) error {
		mine, err := q.remove(conn, r.Receipt)
		if err != nil || !mine {
			return err
		}
		stmt, err := conn.Prepare(`INSERT INTO dead (queue, grp, due, at, reason, body) VALUES (?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		stmt.BindText(1, q.name)
		stmt.BindText(2, r.Group)
		stmt.BindInt64(3, r.Due.UnixMilli())
		stmt.BindInt64(4, q.o.Now().UnixMilli())
		stmt.BindText(5, reason)
		stmt.BindBytes(6, r.Body)
		return sqlitedb.Step(stmt)
	})))
}

// DeadLetters implements queue.Queue.
func (q *Queue) DeadLetters(ctx context.Context, most int) ([]queue.DeadLetter, error) {
	var letters []queue.DeadLetter
	err := q.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`SELECT grp, at, reason, due, body FROM dead WHERE queue = ? ORDER BY at, id LIMIT ?`)
		if err != nil {
			return err
		}
		stmt.BindText(1, q.name)
		stmt.BindInt64(2, int64(max(most, 0)))
		for {
			more, err := stmt.Step()
			if err != nil || !more {
				return err
			}
			letters = append(letters, queue.DeadLetter{
				Message: scanMessage(stmt, 0, 3), Reason: stmt.ColumnText(2), BuriedAt: time.UnixMilli(stmt.ColumnInt64(1)).UTC(),
			})
		}
	})
	return letters, contractError(err)
}

// Redrive implements queue.Queue. It moves the messages that are buried when it starts, a batch per transaction. After an
// error the batches already moved stay moved.
func (q *Queue) Redrive(ctx context.Context) (n int, err error) {
	var last int64
	err = q.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`SELECT max(id) FROM dead WHERE queue = ?`)
		if err != nil {
			return err
		}
		stmt.BindText(1, q.name)
		if _, err := stmt.Step(); err != nil {
			return err
		}
		last = stmt.ColumnInt64(0)
		return stmt.Reset()
	})
	for moved := redriveBatch; err == nil && moved == redriveBatch; n += moved {
		moved = 0
		err = q.db.Write(ctx, unit{q, func(conn *sqlite.Conn) error {
			moved, err = q.redrive(conn, last)
			return err
		}})
	}
	return n, contractError(err)
}

func (q *Queue) redrive(conn *sqlite.Conn, last int64) (moved int, err error) {
	const some = `SELECT id FROM dead WHERE queue = ?1 AND id <= ?2 ORDER BY at, id LIMIT ?3`
	now := q.o.Now().UnixMilli()
	for _, text := range []string{
		`INSERT INTO message (queue, grp, ready, visible, lease, receives, due, body)
			SELECT queue, grp, 1, ?4, 0, 0, ?4, body FROM dead WHERE id IN (` + some + `)`,
		`DELETE FROM dead WHERE id IN (` + some + `)`,
	} {
		stmt, err := conn.Prepare(text)
		if err != nil {
			return 0, err
		}
		stmt.BindText(1, q.name)
		stmt.BindInt64(2, last)
		stmt.BindInt64(3, redriveBatch)
		if stmt.BindParamCount() == 4 {
			stmt.BindInt64(4, now)
		}
		if err := sqlitedb.Step(stmt); err != nil {
			return 0, err
		}
		moved = conn.Changes()
	}
	return moved, nil
}
