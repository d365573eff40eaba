// Package sqlitequeue implements the delayed queue, queue.Queue, in a SQLite file.
//
// Receive takes due messages round robin: one from each group, then a second from each group. It starts after the group of
// the last message that the previous call returned. A group with thousands of due messages therefore delays every other
// group by only one message. Within a group, the earliest due message comes first.
package sqlitequeue

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/sqlitedb"
)

// Options configures a queue. Zero values select the defaults.
type Options struct {
	Now func() time.Time // clock of due times and leases; default time.Now
	// Notice limits how long a message sent by another process stays unseen; default 1 s. Messages of this process are
	// seen at once.
	Notice time.Duration
}

// Queue serves one of the queues in a file.
type Queue struct {
	db   *sqlitedb.DB
	name string
	o    Options
	turn chan struct{} // held by the one Receive that looks for messages
	wake chan struct{} // signals that a message may have become due; holds one signal
	next string        // the next Receive starts at this group; guarded by turn
	full bool          // the last Receive returned as many messages as it may; guarded by turn
}

// Open returns the queue with this name, creating the file's tables if they are missing. A process opens a queue once,
// because Send wakes only the Receive of the same Queue.
func Open(ctx context.Context, db *sqlitedb.DB, name string, o Options) (*Queue, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Notice <= 0 {
		o.Notice = time.Second
	}
	if err := db.Migrate(ctx, "queue", steps()); err != nil {
		return nil, fmt.Errorf("queue tables: %w", contractError(err))
	}
	return &Queue{db: db, name: name, o: o, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}, nil
}

// unit runs work on the queue's tables. Afterwards it wakes a waiting Receive, because messages may be due.
type unit struct {
	q  *Queue
	do func(conn *sqlite.Conn) error
}

// Check implements sqlitedb.Unit.
func (unit) Check(*sqlite.Conn) error { return nil }

// Apply implements sqlitedb.Unit.
func (u unit) Apply(conn *sqlite.Conn) error { return u.do(conn) }

// Committed implements sqlitedb.Unit.
func (u unit) Committed() {
	select {
	case u.q.wake <- struct{}{}:
	default:
	}
}

// These set how long a write of the queue waits for others, so that it costs no sync of its own. Nothing waits for the end of a
// message. A Receive of messages that have waited for their time waits a moment more. One of new messages waits only if the Receive
// before it was full: then there is a backlog.
const (
	patience        = 20 * time.Millisecond
	receivePatience = 5 * time.Millisecond
)

// settle writes the end of a message.
func (q *Queue) settle(ctx context.Context, u sqlitedb.Unit) error {
	return q.db.WriteLazily(ctx, u, patience)
}

const insertMessage = `INSERT INTO message (queue, grp, ready, visible, lease, receives, due, body) VALUES (?, ?, ?, ?, 0, 0, ?, ?)`

// Send implements queue.Queue. It stores all messages or none.
func (q *Queue) Send(ctx context.Context, messages ...queue.Message) error {
	for i := range messages {
		if n := len(messages[i].Body); n == 0 || n > queue.MaxBody {
			return fmt.Errorf("queue: message of %d bytes; send 1 to %d", n, queue.MaxBody)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return contractError(q.db.Write(ctx, unit{q, func(conn *sqlite.Conn) error {
		now := q.o.Now().UnixMilli()
		for i := range messages {
			if err := q.insert(conn, now, &messages[i]); err != nil {
				return err
			}
		}
		return nil
	}}))
}

func (q *Queue) insert(conn *sqlite.Conn, now int64, m *queue.Message) error {
	stmt, err := conn.Prepare(insertMessage)
	if err != nil {
		return err
	}
	due := now
	if !m.Due.IsZero() {
		due = m.Due.UnixMilli()
	}
	stmt.BindText(1, q.name)
	stmt.BindText(2, m.Group)
	stmt.BindBool(3, due <= now)
	stmt.BindInt64(4, due)
	stmt.BindInt64(5, due)
	stmt.BindBytes(6, m.Body)
	return sqlitedb.Step(stmt)
}

// Ack implements queue.Queue. It removes a message whose lease has expired if the message was not redelivered.
func (q *Queue) Ack(ctx context.Context, received ...queue.Received) error {
	if len(received) == 0 {
		return nil
	}
	return contractError(q.settle(ctx, sqlitedb.Do(func(conn *sqlite.Conn) error {
		for i := range received {
			if _, err := q.remove(conn, received[i].Receipt); err != nil {
				return err
			}
		}
		return nil
	})))
}

// remove deletes the message that a receipt leases; done is false if the receipt leases no message.
func (q *Queue) remove(conn *sqlite.Conn, receipt string) (done bool, err error) {
	id, lease, ok := parseReceipt(receipt)
	if !ok {
		return false, nil
	}
	stmt, err := conn.Prepare(`DELETE FROM message WHERE id = ? AND lease = ? AND queue = ?`)
	if err != nil {
		return false, err
	}
	stmt.BindInt64(1, id)
	stmt.BindInt64(2, lease)
	stmt.BindText(3, q.name)
	err = sqlitedb.Step(stmt)
	return err == nil && conn.Changes() > 0, err
}

// Defer implements queue.Queue.
func (q *Queue) Defer(ctx context.Context, r queue.Received, due time.Time) error {
	id, lease, ok := parseReceipt(r.Receipt)
	if !ok {
		return nil
	}
	return contractError(q.settle(ctx, unit{q, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`UPDATE message SET ready = ?1 <= ?2, visible = ?1, due = ?1, lease = 0, receives = 0 WHERE id = ?3 AND lease = ?4 AND queue = ?5`)
		if err != nil {
			return err
		}
		now := q.o.Now().UnixMilli()
		at := now
		if !due.IsZero() {
			at = due.UnixMilli()
		}
		stmt.BindInt64(1, at)
		stmt.BindInt64(2, now)
		stmt.BindInt64(3, id)
		stmt.BindInt64(4, lease)
		stmt.BindText(5, q.name)
		return sqlitedb.Step(stmt)
	}}))
}

// Release implements queue.Queue.
func (q *Queue) Release(ctx context.Context, r queue.Received, after time.Duration) error {
	id, lease, ok := parseReceipt(r.Receipt)
	if !ok {
		return nil
	}
	return contractError(q.settle(ctx, unit{q, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`UPDATE message SET visible = ? WHERE id = ? AND lease = ? AND queue = ? AND ready = 0`)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, q.o.Now().Add(after).UnixMilli())
		stmt.BindInt64(2, id)
		stmt.BindInt64(3, lease)
		stmt.BindText(4, q.name)
		return sqlitedb.Step(stmt)
	}}))
}

// Reclaim ends every lease and returns the number of leases. Only one process receives from a queue, and it calls Reclaim
// before its first Receive. At that time, every lease belongs to a process that died. Without Reclaim, the messages would
// wait until these leases expire.
func (q *Queue) Reclaim(ctx context.Context) (ended int, err error) {
	err = q.db.Write(ctx, unit{q, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`UPDATE message SET ready = 1, visible = due, lease = 0 WHERE queue = ? AND ready = 0 AND lease <> 0`)
		if err != nil {
			return err
		}
		stmt.BindText(1, q.name)
		if err := sqlitedb.Step(stmt); err != nil {
			return err
		}
		ended = conn.Changes()
		return nil
	}})
	return ended, contractError(err)
}

// newLease returns a random number, unique among the leases of messages with the same id.
func newLease() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return int64(binary.BigEndian.Uint64(b[:])>>1) | 1
}

func receipt(id, lease int64) string {
	return strconv.FormatInt(id, 36) + "-" + strconv.FormatInt(lease, 36)
}

func parseReceipt(s string) (id, lease int64, ok bool) {
	a, b, ok := strings.Cut(s, "-")
	id, aerr := strconv.ParseInt(a, 36, 64)
	lease, berr := strconv.ParseInt(b, 36, 64)
	return id, lease, ok && aerr == nil && berr == nil && lease > 0
}

// contractError wraps an error of the file as an error of the queue contract.
func contractError(err error) error {
	if errors.Is(err, sqlitedb.ErrUnavailable) {
		return fmt.Errorf("%w: %w", queue.ErrUnavailable, err)
	}
	return err
}
