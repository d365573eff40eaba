package sqlitequeue

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/sqlitedb"
)

// promoteBatch limits the due messages that a Receive marks ready before it takes its own.
const promoteBatch = 256

// Receive implements queue.Queue. One Receive at a time looks for messages; the others wait for their turn.
func (q *Queue) Receive(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	if most < 1 || lease <= 0 {
		return nil, fmt.Errorf("queue: receive of %d messages for %v; ask for at least one and a positive lease", most, lease)
	}
	most = min(most, queue.MaxBatch)
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return nil, nil
	}
	for {
		wait, linger, err := q.wait(ctx)
		if err == nil && wait <= 0 {
			var got []queue.Received
			if got, err = q.lease(ctx, most, lease, linger); len(got) > 0 {
				return got, nil
			}
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil {
			return nil, contractError(err)
		}
		if wait > 0 {
			q.sleep(ctx, min(wait, q.o.Notice))
		}
	}
}

// sleep waits until d has passed, a message becomes due, or ctx ends.
func (q *Queue) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-q.wake:
	case <-timer.C:
	}
}

const soonest = `SELECT
	EXISTS (SELECT 1 FROM message WHERE queue = ?1 AND ready = 1),
	(SELECT min(visible) FROM message WHERE queue = ?1 AND ready = 0)`

// wait returns the time until a message can be leased, 0 for now, and how long the lease may wait for other writes. It only reads,
// so that polling costs no commit.
func (q *Queue) wait(ctx context.Context) (d, linger time.Duration, err error) {
	err = q.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(soonest)
		if err != nil {
			return err
		}
		stmt.BindText(1, q.name)
		if _, err := stmt.Step(); err != nil {
			return err
		}
		switch {
		case stmt.ColumnBool(0):
		case stmt.ColumnIsNull(1):
			d = q.o.Notice
		default:
			d = max(0, time.Duration(stmt.ColumnInt64(1)-q.o.Now().UnixMilli())*time.Millisecond)
			linger = patience
		}
		if q.full {
			linger = receivePatience
		}
		return stmt.Reset()
	})
	return d, linger, err
}

// lease leases up to most due messages.
func (q *Queue) lease(ctx context.Context, most int, lease, linger time.Duration) ([]queue.Received, error) {
	var got []queue.Received
	var next string
	err := q.db.WriteLazily(ctx, sqlitedb.Do(func(conn *sqlite.Conn) error {
		now := q.o.Now()
		if err := q.promote(conn, now); err != nil {
			return err
		}
		got, next = nil, q.next
		for wrapped := false; len(got) < most; {
			id, m, err := q.pick(conn, next)
			if err != nil {
				return err
			}
			if id == 0 { // past the last group: start once more at the first group
				if wrapped {
					return nil
				}
				next, wrapped = "", true
				continue
			}
			if m.Receipt, err = take(conn, id, now.Add(lease)); err != nil {
				return err
			}
			got, next, wrapped = append(got, m), m.Group+"\x00", false
		}
		return nil
	}), linger)
	if err != nil {
		return nil, err
	}
	q.next, q.full = next, len(got) == most
	return got, nil
}

// promote marks a message as ready if it has become due or its lease has expired.
func (q *Queue) promote(conn *sqlite.Conn, now time.Time) error {
	stmt, err := conn.Prepare(`UPDATE message SET ready = 1 WHERE id IN
		(SELECT id FROM message WHERE queue = ? AND ready = 0 AND visible <= ? ORDER BY visible LIMIT ?)`)
	if err != nil {
		return err
	}
	stmt.BindText(1, q.name)
	stmt.BindInt64(2, now.UnixMilli())
	stmt.BindInt64(3, promoteBatch)
	return sqlitedb.Step(stmt)
}

// pick returns the earliest ready message of the first group at or after the given one; id is 0 if no message is ready.
func (q *Queue) pick(conn *sqlite.Conn, group string) (id int64, m queue.Received, err error) {
	stmt, err := conn.Prepare(`SELECT id, grp, receives, due, body FROM message WHERE queue = ? AND ready = 1 AND grp >= ? ORDER BY grp, visible LIMIT 1`)
	if err != nil {
		return 0, m, err
	}
	stmt.BindText(1, q.name)
	stmt.BindText(2, group)
	found, err := stmt.Step()
	if err != nil || !found {
		return 0, m, err
	}
	id = stmt.ColumnInt64(0)
	m = queue.Received{Message: scanMessage(stmt, 1, 3), Receives: stmt.ColumnInt(2) + 1}
	return id, m, stmt.Reset()
}

// scanMessage reads a message: the group from the column group, the due time from the column due, the body from due+1.
func scanMessage(stmt *sqlite.Stmt, group, due int) queue.Message {
	body := make([]byte, stmt.ColumnLen(due+1))
	stmt.ColumnBytes(due+1, body)
	return queue.Message{Group: stmt.ColumnText(group), Due: time.UnixMilli(stmt.ColumnInt64(due)).UTC(), Body: body}
}

// take leases a message and returns the receipt.
func take(conn *sqlite.Conn, id int64, until time.Time) (string, error) {
	stmt, err := conn.Prepare(`UPDATE message SET ready = 0, visible = ?, lease = ?, receives = receives + 1 WHERE id = ?`)
	if err != nil {
		return "", err
	}
	lease := newLease()
	stmt.BindInt64(1, until.UnixMilli())
	stmt.BindInt64(2, lease)
	stmt.BindInt64(3, id)
	return receipt(id, lease), sqlitedb.Step(stmt)
}
