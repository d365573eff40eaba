// Package dynamostore implements the item store in DynamoDB: store.Store over one table without indexes, and store.Feed
// over the table's stream.
//
// An item has the attributes pk and sk (strings, the key), entity, version, at (milliseconds since 1970), body and, where
// they apply, expires (seconds; the table's TTL attribute), quiet, gone and write. The body is a string and not a binary:
// the console, an export and a stream's filter can show strings. On the wire, the escapes of a string cost less than the
// base64 of a binary. In the table, both take the same space. A body of 800 bytes or more is stored in gzip, in the attribute
// packed, because that halves the write units of memories and deliveries.
//
// A delete of a company's item writes a tombstone over the item: an item with the attribute gone, without a body, that
// expired an hour ago. Readers treat the tombstone as absent, and TTL removes it. A tombstone tells the stream two facts
// that a plain removal does not: the time of the delete to the millisecond, and whether the delete was quiet. Both cost the
// same. Shared partitions have no feed, so a delete there is a plain removal.
//
// The items of a company lie under one partition key, C# and its id, for which DynamoDB serves 1,000 write units a second. The items of
// a spread company that grow with use lie under 8 or 64 sub-partitions of that key, such as C#id#07; a hash of its sort key says in which
// one an item lies. The number grows with the company and no item ever moves, so a company has a list of levels: a number, and from when
// on new items lie in that many. All levels are in one item of the table, which a process reads once a minute for all companies, so a
// company without levels pays for nothing. A level is announced ten minutes before it begins, so every process knows it by then.
//
// A key with a time in it tells the level of its item. Any other item is looked for at the present level, then at all former ones. No
// item is created at a former level. Around the begin of a level, when the clocks of two processes may disagree about which is the
// present one, a create checks in its transaction that the other homes of the item lack it.
package dynamostore

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/base/awsclient"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// Options configures a store. Zero values select the defaults.
type Options struct {
	Table  string           // the table's name
	Now    func() time.Time // clock of commit times and expiry; default time.Now
	Logger *slog.Logger     // receives lost changes and read errors of the feed; default slog.Default()
	// Invalid takes a record of the stream that gives no change, with what identifies the change and the reason. After an error
	// Consume reads the record again. Nil: Consume logs the record and goes on.
	Invalid func(ctx context.Context, consumer string, r Record, c store.Change, reason error) error
	Meter   *Meter // counts the cost of calls; nil requests no cost from DynamoDB
	// Spread caches the list of spread companies. Default: one of this store.
	Spread *Spread

	// Stream is the source of Consume; nil if the process does not consume.
	Stream Stream
	// Consumers lists the names that may Consume.
	Consumers []string
	// Unfinished limits a consumer's changes in flight; default 8192.
	Unfinished int
	// Poll is the pause between two reads of a shard after a page that was not full. It is also the longest delay of a
	// change. The default is 500 ms. A shard allows five reads a second for all consumers together. Two consumers at 500 ms
	// make four reads a second, which is 14,400 GetRecords calls per hour and shard.
	Poll time.Duration
}

// Store reads and writes one table. It holds only connections, so it has no Close.
type Store struct {
	client *dynamodb.Client
	o      Options
	busy   *names
	packer *packer
	places *places
}

// New returns a store without making any request, which keeps Lambda cold starts short.
func New(access awsclient.Access, o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Unfinished <= 0 {
		o.Unfinished = 8192
	}
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Spread == nil {
		o.Spread = &Spread{}
	}
	return &Store{client: newClient(access), o: o, busy: newNames(), packer: &packer{}, places: &places{}}
}

// now returns the time of a commit.
func (s *Store) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

// Get implements store.Store in one round trip, or in two for an item that does not lie at the present level of a spread company.
func (s *Store) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if err := ctx.Err(); err != nil {
		return store.Item{}, err
	}
	l, err := s.spreadOf(ctx, p, key)
	if err != nil {
		return store.Item{}, err
	}
	row, err := s.find(ctx, l, p, key)
	if err != nil {
		return store.Item{}, err
	}
	if row == nil {
		return store.Item{}, store.ErrNotFound
	}
	item, err := scanItem(row)
	if err != nil {
		return store.Item{}, err
	}
	if !expiry.Live(item.Expires, s.o.Now()) {
		return store.Item{}, store.ErrNotFound
	}
	return item, nil
}

// capacity selects whether DynamoDB reports the cost of a call.
func (s *Store) capacity() types.ReturnConsumedCapacity {
	if s.o.Meter == nil {
		return types.ReturnConsumedCapacityNone
	}
	return types.ReturnConsumedCapacityTotal
}
