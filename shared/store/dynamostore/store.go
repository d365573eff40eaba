// Package dynamostore is the item store in DynamoDB: store.Store over one table without indexes, and store.Feed over the
// table's stream.
//
// An item is the attributes pk and sk (strings, the key), entity, version, at (milliseconds since 1970), body and, where
// they apply, expires (seconds; the table's TTL attribute), quiet, gone and write. The body is a string: JSON is text,
// strings are what the console, an export and a stream's filter can show, and on the wire a string's escapes cost less
// than a binary's base64. What either occupies in the table is the same. A large body that the feed does not show is packed
// instead, in the attribute packed.
//
// An item of a company is deleted by writing a tombstone over it: gone, without a body, and expired an hour ago, so that it
// is absent for every reader and TTL removes it. The stream shows of a plain removal neither when it happened, to the
// millisecond, nor whether it was to be quiet; of a tombstone it shows both. Both cost the same. Shared partitions,
// which have no feed, are deleted from plainly.
package dynamostore

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/awsclient"
	"orgops/shared/store"
)

// Options says how a store is opened. Zero values are the defaults.
type Options struct {
	Table  string           // the table's name
	Now    func() time.Time // the clock of commit times and expiry; time.Now when nil
	Logger *slog.Logger     // where a feed says that changes were lost; slog.Default() when nil
	Meter  *Meter           // counts what calls cost; nothing is counted, and nothing asked of DynamoDB for it, when nil

	// Stream is what Consume reads; nil where nobody consumes.
	Stream Stream
	// Consumers are the names that may Consume.
	Consumers []string
	// Unfinished is how many changes a consumer may have handed out and not finished; 8192 when 0.
	Unfinished int
	// Poll is how long a consumer leaves a shard alone after a read that found all there was; 500 ms when 0. So long, at
	// most, a change waits. A shard allows five reads a second, for all consumers together: two consumers at 500 ms make four,
	// and, by the hour and shard, 14,400 calls of GetRecords.
	Poll time.Duration
}

// Store is an open store. It holds connections only, which need no closing.
type Store struct {
	client *dynamodb.Client
	o      Options
	busy   *names
	packer *packer
}

// New opens a store. It calls nobody: a Lambda does it on its cold start.
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
	return &Store{client: newClient(access), o: o, busy: newNames(), packer: &packer{}}
}

// now is the time of a commit.
func (s *Store) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

// Get implements store.Store: one round trip.
func (s *Store) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if err := ctx.Err(); err != nil {
		return store.Item{}, err
	}
	ctx, call := begin(ctx)
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.o.Table, Key: itemKey(p.String(), key), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: s.capacity(),
	})
	if err != nil {
		s.o.Meter.add(call.trips, nil)
		return store.Item{}, call.outside(ctx, err)
	}
	s.o.Meter.add(call.trips, reading(out.ConsumedCapacity))
	if len(out.Item) == 0 {
		return store.Item{}, store.ErrNotFound
	}
	item, err := scanItem(out.Item)
	if err != nil {
		return store.Item{}, err
	}
	if !live(item.Expires, s.o.Now()) {
		return store.Item{}, store.ErrNotFound
	}
	return item, nil
}

// capacity is whether DynamoDB is to say what a call cost.
func (s *Store) capacity() types.ReturnConsumedCapacity {
	if s.o.Meter == nil {
		return types.ReturnConsumedCapacityNone
	}
	return types.ReturnConsumedCapacityTotal
}
