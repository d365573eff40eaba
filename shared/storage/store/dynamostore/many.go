package dynamostore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// address names an item of the table.
type address struct{ partition, key string }

// sought is an item to be found in one of its homes.
type sought struct {
	key    string
	levels levels
	homes  []home
}

func (o sought) at(n int) address { return address{o.homes[n].String(), o.key} }

// GetMany implements store.Store in one round trip. The items that do not lie at the present level of a spread company take a second
// one, and so do bodies beyond the 16 MB of an answer.
func (s *Store) GetMany(ctx context.Context, p store.Partition, keys []string) ([]store.Item, error) {
	if err := store.CheckKeys(keys); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := s.o.Now()
	var all []sought
	var present, others []address
	for _, key := range keys {
		l, err := s.spreadOf(ctx, p, key)
		if err != nil {
			return nil, err
		}
		one := sought{key, l, l.homes(p, key, now)}
		all, present = append(all, one), append(present, one.at(0))
	}
	rows, err := s.rows(ctx, present)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		for n := 1; n < len(one.homes) && !is(rows[one.at(0)]); n++ {
			others = append(others, one.at(n))
		}
	}
	more, err := s.rows(ctx, others)
	if err != nil {
		return nil, err
	}
	maps.Copy(rows, more)
	var items []store.Item
	for _, one := range all {
		found := make([]attributes, len(one.homes))
		for n := range one.homes {
			found[n] = rows[one.at(n)]
		}
		row, at := choose(one.homes, found)
		if len(one.levels) > 0 {
			s.places.put(one.levels, p, one.key, at, now)
		}
		if !is(row) {
			continue
		}
		item, err := scanItem(row)
		if err != nil {
			return nil, err
		}
		if expiry.Live(item.Expires, now) {
			items = append(items, item)
		}
	}
	return items, nil
}

// A busy table leaves keys of a batch out. Such a batch is asked for again after a pause that doubles, and given up after so many tries
// that read nothing.
const (
	batchTries = 5
	batchPause = 10 * time.Millisecond
)

// rows returns the attributes of the items that exist, with one call for MaxKeys of them.
func (s *Store) rows(ctx context.Context, all []address) (map[address]attributes, error) {
	rows := make(map[address]attributes, len(all))
	for chunk := range slices.Chunk(all, store.MaxKeys) {
		keys := make([]attributes, len(chunk))
		for i, a := range chunk {
			keys[i] = itemKey(a.partition, a.key)
		}
		for tries := 1; len(keys) > 0; tries++ {
			left, err := s.batch(ctx, keys, rows)
			switch {
			case err != nil:
				return nil, err
			case len(left) < len(keys):
				tries = 0
			case tries == batchTries:
				return nil, fmt.Errorf("%w: none of %d items was read", store.ErrUnavailable, len(left))
			}
			if len(left) > 0 && !wait.For(ctx, batchPause<<tries) {
				return nil, ctx.Err()
			}
			keys = left
		}
	}
	return rows, nil
}

// batch adds the attributes of the items with these keys to rows. It returns the keys that DynamoDB left out, because the answer was
// full or the table busy.
func (s *Store) batch(ctx context.Context, keys []attributes, rows map[address]attributes) (left []attributes, err error) {
	ctx, call := begin(ctx)
	out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems:           map[string]types.KeysAndAttributes{s.o.Table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		ReturnConsumedCapacity: s.capacity(),
	})
	if err != nil {
		s.o.Meter.add(call.trips, nil)
		return nil, call.contractError(ctx, err)
	}
	left = out.UnprocessedKeys[s.o.Table].Keys
	s.o.Meter.add(call.trips, readingMany(out.ConsumedCapacity, len(keys)-len(left)))
	for _, row := range out.Responses[s.o.Table] {
		partition, _ := row[attrPartition].(*types.AttributeValueMemberS)
		key, _ := row[attrKey].(*types.AttributeValueMemberS)
		if partition == nil || key == nil {
			return nil, fmt.Errorf("store: %v is not an item of this program", itemName(row))
		}
		rows[address{partition.Value, key.Value}] = row
	}
	return left, nil
}
