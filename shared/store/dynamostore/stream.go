package dynamostore

import (
	"context"
	"errors"
)

// Stream is what Consume reads: the table's stream of changes, as package dynamostream has it. It is apart from the store
// because a Lambda is handed its records, and would pay for the stream's client at every cold start.
type Stream interface {
	// Shards lists the shards that the stream still has.
	Shards(ctx context.Context, arn string) ([]Shard, error)
	// Iterator is where reading a shard begins: an opaque text that is good for a quarter of an hour. after is a sequence
	// number, with After alone.
	Iterator(ctx context.Context, arn, shard string, from Start, after string) (string, error)
	// Read returns n records at most, and the iterator of what follows them; "" where the shard ends.
	Read(ctx context.Context, iterator string, n int) (records []Record, next string, err error)
}

// Shard is a part of a stream. One that is not open grows no more: others follow it, whose parent it is.
type Shard struct {
	ID, Parent string
	Open       bool
}

// Start is where in a shard to begin.
type Start uint8

// The starts.
const (
	Oldest Start = iota // the first record that there still is
	Newest              // behind the last one that there is
	After               // behind a sequence number
)

// What a Stream answers beside what the service says in words.
var (
	ErrExpired = errors.New("the iterator has expired")
	ErrTrimmed = errors.New("the stream no longer has what follows")
	ErrGone    = errors.New("the stream no longer has the shard")
)
