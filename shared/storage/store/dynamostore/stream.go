package dynamostore

import (
	"context"
	"errors"
)

// Stream reads the table's stream of changes for Consume; package dynamostream implements it. It is separate from the store,
// because Lambda functions receive records as events. They need not load the stream client at a cold start.
type Stream interface {
	// Shards lists the shards that the stream still holds.
	Shards(ctx context.Context, arn string) ([]Shard, error)
	// Iterator returns an opaque token at which to start reading a shard; it expires after 15 minutes. after is a sequence
	// number, used only with After and At.
	Iterator(ctx context.Context, arn, shard string, from Start, after string) (string, error)
	// Read returns up to n records. next is the iterator of the records that follow, "" at the end of the shard.
	Read(ctx context.Context, iterator string, n int) (records []Record, next string, err error)
}

// Shard describes a part of a stream. A shard that is not open gets no more records; its children continue it.
type Shard struct {
	ID, Parent string
	Open       bool
}

// Start selects where to start reading a shard.
type Start uint8

// Starts of reading.
const (
	Oldest Start = iota // the oldest record still held
	Newest              // after the newest record
	After               // after a sequence number
	At                  // at a sequence number
)

// Errors that a Stream returns. Each wraps an error of the service.
var (
	ErrExpired = errors.New("the iterator has expired")
	ErrTrimmed = errors.New("the stream no longer holds the records that follow")
	ErrGone    = errors.New("the stream no longer holds the shard")
)
