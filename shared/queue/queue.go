// Package queue is the contract of the delayed queue: messages that become due, are taken under a lease, and are
// acknowledged, put off or buried. A driver implements Queue and passes queuetest.
package queue

import (
	"context"
	"errors"
	"time"
)

// Limits that hold for every driver; they are SQS's.
const (
	MaxBody  = 200 << 10 // bytes of a message body
	MaxBatch = 10        // messages a Receive returns at most
)

// ErrUnavailable is what every method answers when the backend cannot be reached: try again later.
var ErrUnavailable = errors.New("queue unavailable")

// Message is what is queued.
type Message struct {
	Body  []byte    // opaque to the queue
	Group string    // the tenant, for fairness between tenants; never an order
	Due   time.Time // not handed out before; zero or past: at once
}

// Received is a message under a lease.
type Received struct {
	Message
	Receipt  string // names this lease
	Receives int    // how often it was handed out, this time included, since it was sent or last put off
}

// Queue is a delayed queue with at-least-once delivery and no order. Its methods are safe for concurrent use.
type Queue interface {
	// Send stores messages durably before it returns: all of them or, on an error, possibly some. A body that is empty or
	// larger than MaxBody is refused.
	Send(ctx context.Context, messages ...Message) error
	// Receive waits for at least one due message and leases up to max (at most MaxBatch) for the given time: unless it is acknowledged,
	// put off or buried by then, a message is handed out again. When ctx ends first it returns nothing and nil.
	Receive(ctx context.Context, max int, lease time.Duration) ([]Received, error)
	// Ack removes messages for good. A receipt whose lease ran out is ignored once its message was handed out again;
	// until then a driver may honour it. So it is with Defer and Bury.
	Ack(ctx context.Context, received ...Received) error
	// Defer puts a message back until due and starts its receive count again.
	Defer(ctx context.Context, r Received, due time.Time) error
	// Bury moves a message to the dead letters with the reason: it cannot be processed as it is.
	Bury(ctx context.Context, r Received, reason string) error
	// DeadLetters lists up to max buried messages, oldest first.
	DeadLetters(ctx context.Context, max int) ([]DeadLetter, error)
	// Redrive sends every buried message again and returns how many there were.
	Redrive(ctx context.Context) (int, error)
}

// DeadLetter is a buried message.
type DeadLetter struct {
	Message
	Reason   string
	BuriedAt time.Time
}
