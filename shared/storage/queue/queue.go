// Package queue defines the delayed queue: messages become due, are leased, and are then acknowledged, deferred or buried.
// A driver implements Queue and passes queuetest.
package queue

import (
	"context"
	"errors"
	"time"
)

// Limits of every driver. Both lie within the limits of SQS.
const (
	MaxBody  = 200 << 10 // bytes of a message body
	MaxBatch = 10        // messages a Receive returns at most
)

// ErrUnavailable reports that the backend cannot be reached. Every method may return it; the caller retries later.
var ErrUnavailable = errors.New("queue unavailable")

// Message carries a body to the consumer.
type Message struct {
	Body  []byte    // opaque to the queue
	Group string    // the tenant, for fairness between tenants; implies no order
	Due   time.Time // earliest delivery; zero or past: at once
	Hops  int       // how often a function on Lambda has sent the message to its own queue again; other drivers may forget it
}

// Received carries a leased message and its receipt.
type Received struct {
	Message
	Receipt  string // identifies this lease
	Receives int    // deliveries since the message was sent or last deferred, including this one
}

// Queue delivers messages at least once, when due, in no order. Its methods are safe for concurrent use.
type Queue interface {
	// Send stores messages durably before it returns. After an error, some messages may have been stored. Send refuses an
	// empty body and a body larger than MaxBody.
	Send(ctx context.Context, messages ...Message) error
	// Receive waits for at least one due message and leases up to max (at most MaxBatch) for the given time. A message that is
	// not acknowledged, deferred or buried within its lease is redelivered. When ctx ends first, Receive returns nothing and nil.
	Receive(ctx context.Context, max int, lease time.Duration) ([]Received, error)
	// Ack removes messages for good. After the lease has expired, a driver may still accept the receipt until the message is
	// redelivered. After a redelivery, every driver ignores the earlier receipt. The same holds for Defer, Release and Bury.
	Ack(ctx context.Context, received ...Received) error
	// Defer makes a message due at the given time and resets its receive count.
	Defer(ctx context.Context, r Received, due time.Time) error
	// Release ends the lease of a message after the given time, to the second. The message keeps its receive count.
	Release(ctx context.Context, r Received, after time.Duration) error
	// Bury moves a message that cannot be processed to the dead letters, with the reason.
	Bury(ctx context.Context, r Received, reason string) error
	// DeadLetters lists up to max buried messages, oldest first.
	DeadLetters(ctx context.Context, max int) ([]DeadLetter, error)
	// Redrive sends every buried message again and returns their number.
	Redrive(ctx context.Context) (int, error)
}

// DeadLetter carries a buried message and the reason.
type DeadLetter struct {
	Message
	Reason   string
	BuriedAt time.Time
}
