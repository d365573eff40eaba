// Package timerqueue keeps messages that wait long as timers, until the ticker sends them. It wraps a queue of SQS.
//
// SQS delays a message by at most 15 minutes, so a longer wait would take a worker's invocation every 15 minutes. These
// invocations also form a chain: Lambda counts how often a function is invoked because of its own earlier invocation, across
// queues, and drops the message at about the 16th time. A timer begins a new chain, because DynamoDB does not pass a chain on.
// So Queue makes a message a timer if it is due too late for SQS, or if a worker has sent it on too often.
package timerqueue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Timer names the kind of a timer that sends a message.
const Timer = "message"

const (
	// MaxHops limits how often a worker sends a message on. Lambda's documents say "approximately 16" invocations.
	MaxHops = 10

	maxDelay = 15 * time.Minute
	// ahead is how long before it is due the ticker sends a message. SQS then delays it to the second, and a ticker that is some
	// minutes late delays nothing.
	ahead = 5 * time.Minute
)

// Queue sends messages to the wrapped queue, or stores them as timers.
type Queue struct {
	queue.Queue
	Store store.Store
	Name  string // of the queue, for the ticker
	Now   func() time.Time
}

// Message holds what a timer of a message needs, next to its company.
type Message struct {
	Queue string    `json:"queue"`
	Body  []byte    `json:"body"`
	Due   time.Time `json:"due"`
}

// Send implements queue.Queue.
func (q Queue) Send(ctx context.Context, messages ...queue.Message) error {
	var soon []queue.Message
	for _, m := range messages {
		if m.Due.Sub(q.Now()) <= maxDelay {
			soon = append(soon, m)
		} else if err := q.keep(ctx, m); err != nil {
			return err
		}
	}
	if len(soon) == 0 {
		return nil
	}
	return q.Queue.Send(ctx, soon...)
}

// Defer implements queue.Queue.
func (q Queue) Defer(ctx context.Context, r queue.Received, due time.Time) error {
	r.Hops++
	if due.Sub(q.Now()) <= maxDelay && r.Hops <= MaxHops {
		return q.Queue.Defer(ctx, r, due)
	}
	r.Due = due
	if err := q.keep(ctx, r.Message); err != nil {
		return err
	}
	return q.Ack(ctx, r)
}

// keep stores a message as a timer, which may exist already. It refuses what Send of every driver refuses, and a message
// without a company.
func (q Queue) keep(ctx context.Context, m queue.Message) error {
	if n := len(m.Body); n == 0 || n > queue.MaxBody || m.Group == "" {
		return fmt.Errorf("queue: message of %d bytes for company %q; send 1 to %d bytes for a company", n, m.Group, queue.MaxBody)
	}
	c := store.For(q.Store, m.Group)
	err := c.Commit(store.Patiently(ctx), Op(c, q.Name, m, q.Now()))
	if errors.Is(err, store.ErrConflict) { // the same message for the same time
		return nil
	}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		return fmt.Errorf("%w: the message was not stored as a timer: %w", queue.ErrUnavailable, err)
	}
	return err
}

// Op returns the write of a timer that sends a message to the named queue, for a message that belongs into a transaction.
func Op(c store.Company, name string, m queue.Message, now time.Time) store.Op {
	at := m.Due.Add(-ahead)
	if at.Before(now) {
		at = now
	}
	data, _ := json.Marshal(Message{Queue: name, Body: m.Body, Due: m.Due}) // texts and a time always encode
	digest := sha256.Sum256(data)
	return c.TimerWith(at, Timer, name+"#"+hex.EncodeToString(digest[:16]), data)
}

// Of returns the message of a timer, and the name of its queue.
func Of(t store.Timer) (name string, m queue.Message, err error) {
	var kept Message
	if err := json.Unmarshal(t.Data, &kept); err != nil {
		return "", queue.Message{}, fmt.Errorf("decode the timer of a message: %w", err)
	}
	return kept.Queue, queue.Message{Body: kept.Body, Group: t.Company, Due: kept.Due}, nil
}
