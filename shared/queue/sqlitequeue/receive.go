package sqlitequeue

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/queue"
	"orgops/shared/sqlitedb"
)

// promoted is how many messages that became due a Receive makes ready at most, before it takes its own.
const promoted = 256

// Receive implements queue.Queue. One Receive at a time looks for messages; the others wait for their turn.
func (q *Queue) Receive(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	if most < 1 || lease <= 0 {
		return nil, fmt.Errorf("queue: a receive of %d messages for %v", most, lease)
	}
	most = min(most, queue.MaxBatch)
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return nil, nil
	}
	for {
		wait, err := q.wait(ctx)
		if err == nil && wait <= 0 {
			var got []queue.Received
			if got, err = q.lease(ctx, most, lease); len(got) > 0 {
				return got, nil
			}
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil {
			return nil, outside(err)
		}
		if wait > 0 {
			q.sleep(ctx, min(wait, q.o.Notice))
		}
	}
}

// sleep waits for a time, for a message to become due, or for ctx.
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

// wait is how long until a message can be handed out; 0 is now. It only reads: looking in vain costs no commit.
func (q *Queue) wait(ctx context.Context) (d time.Duration, err error) {
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
		}
		return stmt.Reset()
	})
	return d, err
}

// lease hands out up to most messages that are due.
func (q *Queue) lease(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	var got []queue.Received
	var next string
	err := q.db.Write(ctx, sqlitedb.Do(func(conn *sqlite.Conn) error {
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
			if id == 0 { // behind the last group: once more from the first
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
	}))
	if err != nil {
		return nil, err
	}
	q.next = next
	return got, nil
}

// promote makes ready what became due: what was sent or put off for later, and what a lease ran out of.
func (q *Queue) promote(conn *sqlite.Conn, now time.Time) error {
	stmt, err := conn.Prepare(`UPDATE message SET ready = 1 WHERE id IN
		(SELECT id FROM message WHERE queue = ? AND ready = 0 AND visible <= ? ORDER BY visible LIMIT ?)`)
	if err != nil {
		return err
	}
	stmt.BindText(1, q.name)
	stmt.BindInt64(2, now.UnixMilli())
	stmt.BindInt64(3, promoted)
	return sqlitedb.Step(stmt)
}

// pick finds the earliest ready message of the first group from the given one on; id is 0 when there is none.
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

// scanMessage reads a message: its group, and from the column due on its due time and its body.
func scanMessage(stmt *sqlite.Stmt, group, due int) queue.Message {
	body := make([]byte, stmt.ColumnLen(due+1))
	stmt.ColumnBytes(due+1, body)
	return queue.Message{Group: stmt.ColumnText(group), Due: time.UnixMilli(stmt.ColumnInt64(due)).UTC(), Body: body}
}

// take puts a message under a lease.
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
