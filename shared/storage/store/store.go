// Package store defines the item store: items under a partition and a sort key, conditional writes, transactions, range
// queries, expiry, and a feed of every committed change.
//
// A driver implements Store and Feed and passes storetest. Domain code never sees a driver: it gets a Company, which reaches
// the keys of one tenant only.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fastjson"
)

// Limits of every driver. They lie within DynamoDB's limits, so code that works on a laptop works in the cloud.
const (
	MaxOps    = 100        // writes in one commit
	MaxBody   = 380 << 10  // bytes of an item's body
	MaxCommit = 3840 << 10 // bytes of all bodies in one commit
	MaxKey    = 1024       // bytes of a sort key
	MaxPage   = 1000       // items in one page
	MaxKeys   = 100        // keys of one GetMany
)

var (
	// ErrNotFound reports that an item is absent or expired. Get returns it.
	ErrNotFound = errors.New("item not found")
	// ErrConflict reports that a condition did not hold. Commit returns it and has written nothing.
	ErrConflict = errors.New("write condition not met")
	// ErrUnavailable reports that the backend is unreachable or saturated. Every method may return it; the caller retries later.
	ErrUnavailable = errors.New("store unavailable")
	// ErrUnknown reports that the backend received a commit but its outcome is unknown: all of it was written, or nothing.
	// Commit returns it. The conditions of a commit make a retry safe.
	ErrUnknown = errors.New("the write may or may not have been applied; re-read before retrying")
	// ErrTooLarge reports a body over MaxBody or a commit over MaxCommit. Commit returns it and has written nothing.
	ErrTooLarge = errors.New("store: too large")
)

// ConflictError names the first write whose condition did not hold. It matches ErrConflict.
type ConflictError struct {
	Index int    // position among the ops of the commit
	Key   string // sort key
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s (op %d)", ErrConflict, e.Key, e.Index)
}

// Is matches ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Item holds a body and its metadata under a sort key.
type Item struct {
	Key     string          // sort key
	Entity  string          // kind of item, such as "memory" or "goal"; the feed filters by it
	Version int64           // incremented by every write; 1 when created, unless From has set it
	At      time.Time       // when this version was committed, UTC, to the millisecond
	Expires time.Time       // absent from this second on; zero: never expires
	Body    json.RawMessage // a JSON object
}

// Decode unmarshals the item's body into the value that into points to.
func (i Item) Decode(into any) error {
	if err := fastjson.Unmarshal(i.Body, into); err != nil {
		return fmt.Errorf("decode %s: %w", i.Key, err)
	}
	return nil
}

// Condition guards a write: the stored item must meet it. An expired item counts as absent.
type Condition uint8

// Every write has one of these conditions, so no write replaces a version that its caller has not read.
const (
	IfAbsent  Condition = iota // the item does not exist
	IfVersion                  // the item exists with exactly Op.Version
)

// Action selects what a write does.
type Action uint8

// Actions of a write.
const (
	Put    Action = iota // store Body
	Delete               // remove the item
	Check                // write nothing; the condition alone guards the commit
)

// Op describes one write of a commit. The methods of Company make ops. Partition.Entry makes the ops for the few partitions
// outside any company.
type Op struct {
	Partition Partition
	Key       string
	Action    Action
	Condition Condition
	Version   int64 // with IfVersion; with IfAbsent, the number before that of the first version: see From
	Entity    string
	Expires   time.Time
	Body      json.RawMessage
	Quiet     bool // keep the write out of the change feed
}

// Query selects the items of a partition whose keys start with Prefix, in key order.
type Query struct {
	Prefix string
	From   string // first key included; "": from the start of the prefix
	To     string // last key included; "": to the end of the prefix
	After  string // resume after this key, in the query's direction; "": from the start
	Desc   bool   // descending key order
	Limit  int    // maximum number of items; 0 or more than MaxPage means MaxPage
}

// Page holds one result of a Query. Next is the After of the following page, "" on the last one. A page with a Next may
// hold fewer items than Limit, even none.
type Page struct {
	Items []Item
	Next  string
}

// Store reads and writes items. Its methods are safe for concurrent use and stop when ctx ends.
type Store interface {
	// Get returns one item, or ErrNotFound. It sees every commit that returned before the call.
	Get(ctx context.Context, p Partition, key string) (Item, error)
	// GetMany returns the items that exist among up to MaxKeys distinct keys, in any order. Each item is as Get returns it, but
	// two of them may be of different moments.
	GetMany(ctx context.Context, p Partition, keys []string) ([]Item, error)
	// Query returns one page. It sees every commit that returned before the call.
	Query(ctx context.Context, p Partition, q Query) (Page, error)
	// Commit writes all ops or none. After nil, the ops are durable, even through a power loss. After ErrConflict or
	// ErrUnavailable, nothing was written. After ErrUnknown, the outcome is unknown; after any other error, it may be
	// unknown. Commit refuses zero ops, more than MaxOps, and two ops on one item.
	Commit(ctx context.Context, ops ...Op) error
}

// Scrubber removes what a store keeps of former versions and removed items. A store that cannot reach these copies, because its
// backend alone ends them after a time, does not implement it.
type Scrubber interface {
	// Scrub removes the copies of a company's items from the change log and from free space. It may take long, and no commit
	// succeeds meanwhile.
	Scrub(ctx context.Context, company string) error
}

// Sequence orders the changes of one shard of the feed: decimal digits.
type Sequence string

// Compare returns -1, 0 or +1 for two sequences of one shard. The empty sequence sorts first.
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

// Change describes one committed write of a company's item: Old is nil if the write created the item, New is nil if the
// write deleted it.
type Change struct {
	Sequence Sequence
	// Shard names the part of the feed that the change came by, "" if the feed has one part. An item's changes come by one shard,
	// and after the shard's end by a later one. A company's may come by several at once, whose sequences say nothing about each other.
	Shard    string
	Company  string
	Key      string
	Entity   string
	At       time.Time // when the writer began the commit
	Stored   time.Time // when the backend stored it, rounded down to a second; zero: at At
	Old, New *Image
}

// Version returns the version of the item that the change has made. A removal counts as one.
func (c Change) Version() int64 {
	if c.New == nil {
		return c.Old.Version + 1
	}
	return c.New.Version
}

// Size returns the bytes of the bodies that the change holds.
func (c *Change) Size() (n int) {
	for _, image := range [...]*Image{c.Old, c.New} {
		if image != nil {
			n += len(image.Body)
		}
	}
	return n
}

// Image holds the version and body of an item before or after a change.
type Image struct {
	Version int64
	Body    json.RawMessage
}

// Batch carries consecutive changes of one shard.
type Batch struct {
	Changes []Change
	// Replay is true if this consumer may have received some of the changes before: after a crash, or because the batch is
	// redelivered. If Replay is false, the consumer has received none of them before.
	Replay bool
	// Retries tells the feed, if it is not nil, that the consumer retries the batch itself. A feed may limit the time until then.
	Retries func()
}

// Feed delivers the committed changes of company partitions, except quiet writes.
type Feed interface {
	// Consume passes the changes after the consumer's stored position to handle until ctx ends. It then waits for the
	// batches in flight and returns nil. handle is called for one batch at a time. An item's changes come in commit order, and
	// a company's of a shard in the order of their sequences. handle may return before its work ends. It calls done exactly once, when the batch is finished. If it calls
	// done with an error, Consume redelivers the batch later. The position moves past a batch once that batch and all
	// earlier batches are finished. The driver limits the changes in flight, and calls handle for further batches up to that
	// limit. It may limit those of a company more, and deliver the changes of others first.
	//
	// Only one process at a time may consume under a name. The feed keeps a change for at least a day. Some drivers keep it
	// until every consumer that the feed was opened with has finished it.
	Consume(ctx context.Context, consumer string, handle func(ctx context.Context, b Batch, done func(error))) error
}
