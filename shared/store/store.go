// Package store is the contract of the item store: items under a partition and a sort key, conditional writes,
// transactions, ranges in key order, expiry, and a feed of every committed change.
//
// A driver implements Store and Feed and passes storetest. Domain code never sees a driver: it gets a Company, a view
// bound to one tenant, through which a key outside that tenant cannot be expressed.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Limits that hold for every driver; they are DynamoDB's, so that what works on a laptop works in the cloud.
const (
	MaxOps    = 100        // writes in one commit
	MaxBody   = 380 << 10  // bytes of an item's body
	MaxCommit = 3840 << 10 // bytes of the bodies of one commit
	MaxKey    = 1024       // bytes of a sort key
	MaxPage   = 1000       // items a query returns at most
)

var (
	// ErrNotFound is what Get answers for an item that is absent or expired.
	ErrNotFound = errors.New("item not found")
	// ErrConflict is what Commit answers when a condition does not hold; nothing of the commit was written.
	ErrConflict = errors.New("write condition not met")
	// ErrUnavailable is what every method answers when the backend cannot be reached or is saturated: try again later.
	ErrUnavailable = errors.New("store unavailable")
	// ErrUnknown is what Commit answers when the backend took the commit and what became of it is not known: all of it was
	// written, or nothing. Its conditions make a repeat safe.
	ErrUnknown = errors.New("outcome of a write is not known")
)

// ConflictError is an ErrConflict that names the first write whose condition did not hold.
type ConflictError struct {
	Index int    // position among the ops of the commit
	Key   string // its sort key
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s (op %d)", ErrConflict, e.Key, e.Index)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Item is what is stored under a partition and a sort key.
type Item struct {
	Key     string          // sort key
	Entity  string          // what it is: "memory", "goal"; the feed's filter
	Version int64           // 1 when created, one more with every write
	At      time.Time       // when this version was committed, UTC, to the millisecond
	Expires time.Time       // from this second on it is absent; zero: never
	Body    json.RawMessage // a JSON object
}

// Condition is what must hold of the stored item for a write to happen. An expired item counts as absent.
type Condition uint8

// The conditions. Every write has one: nothing is ever overwritten blindly.
const (
	IfAbsent  Condition = iota // no such item
	IfVersion                  // it exists with exactly Op.Version
)

// Action is what a write does.
type Action uint8

// The actions.
const (
	Put    Action = iota // store Body
	Delete               // remove the item
	Check                // write nothing; the condition alone guards the commit
)

// Op is one write of a commit. Ops are made by a Company's methods, or, for the few partitions that belong to no
// company, by the functions beside Partition.
type Op struct {
	Partition Partition
	Key       string
	Action    Action
	Condition Condition
	Version   int64 // with IfVersion
	Entity    string
	Expires   time.Time
	Body      json.RawMessage
	Quiet     bool // kept out of the change feed: nothing is ever derived from it
}

// Query asks for the items of a partition whose keys start with Prefix, in key order.
type Query struct {
	Prefix string
	From   string // first key included; "" is the start of the prefix
	To     string // last key included; "" is the end of the prefix
	After  string // resume behind this key (in the query's direction); "" from the start
	Desc   bool   // greatest key first
	Limit  int    // items at most; 0 or more than MaxPage is MaxPage
}

// Page is one answer to a Query. Next is the After of the following page, "" on the last one.
// A page may hold fewer items than Limit, even none, and still have a Next.
type Page struct {
	Items []Item
	Next  string
}

// Store is the item store. Its methods are safe for concurrent use and stop when ctx ends.
type Store interface {
	// Get returns one item, or ErrNotFound. It sees every commit that was answered before it was called.
	Get(ctx context.Context, p Partition, key string) (Item, error)
	// Query returns one page. It sees every commit that was answered before it was called.
	Query(ctx context.Context, p Partition, q Query) (Page, error)
	// Commit writes all ops or none. When it returns nil they are durable: they survive the loss of power. An error
	// that is neither ErrConflict nor ErrUnavailable may leave the outcome unknown; ErrUnknown says that it does.
	// Two ops on one item, no ops, or more than MaxOps are an error.
	Commit(ctx context.Context, ops ...Op) error
}

// Sequence is a change's place in the feed: decimal digits, comparable within one company.
type Sequence string

// Compare orders two sequences of one company: -1, 0 or +1. The empty sequence comes first.
func (s Sequence) Compare(t Sequence) int {
	if len(s) != len(t) {
		if len(s) < len(t) {
			return -1
		}
		return 1
	}
	switch {
	case s < t:
		return -1
	case s > t:
		return 1
	}
	return 0
}

// Change is one committed write of a company's item, with the item before (nil when created) and after (nil when deleted).
type Change struct {
	Sequence Sequence
	Company  string
	Key      string
	Entity   string
	At       time.Time // commit time
	Old, New *Image
}

// Image is the part of an item that a change shows.
type Image struct {
	Version int64
	Body    json.RawMessage
}

// Batch is a run of changes in feed order.
type Batch struct {
	Changes []Change
	// Replay is true when some of the changes may have been handed to this consumer before (after a crash, or on a
	// redelivery); false promises that none has.
	Replay bool
}

// Feed hands out committed changes of company partitions, quiet writes excepted.
type Feed interface {
	// Consume hands handle the changes behind the consumer's stored position until ctx ends, then waits for the
	// batches under way and returns nil. Batches are handed over one after another, a company's changes in the order
	// of their commits. handle may keep working after it returns; it calls done exactly once when the batch is
	// finished, and the position moves over a batch when it and all before it are finished. done(err) with an error
	// hands the batch over again later. The driver limits how many changes are unfinished at a time, so handle may be
	// called long before earlier batches are finished, but not without bound.
	//
	// One consumer name is consumed by one process at a time. A change is kept until every consumer that the feed
	// was opened with is past it, and for a day at least.
	Consume(ctx context.Context, consumer string, handle func(ctx context.Context, b Batch, done func(error))) error
}
