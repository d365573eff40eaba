package dynamostore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// Attributes of an item.
const (
	attrPartition = "pk"
	attrKey       = "sk"
	attrEntity    = "entity"
	attrVersion   = "version"
	attrAt        = "at"
	attrExpires   = "expires" // absent: never
	attrBody      = "body"
	attrPacked    = "packed" // the body in gzip, instead of attrBody
	attrQuiet     = "quiet"  // keeps the write out of the feed; absent: the feed shows it
	attrGone      = "gone"   // a tombstone; absent: an item
	attrWrite     = "write"  // names the write, to tell a repeated try from another caller's write
)

// tombstoneAge backdates a tombstone's expiry. It is longer than clocks differ, and shorter than the five years after which
// TTL ignores an item.
const tombstoneAge = time.Hour

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func yes() types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: true} }

func itemKey(partition, key string) attributes {
	return attributes{attrPartition: text(partition), attrKey: text(key)}
}

// itemOf returns the item that a put writes, or the tombstone that a delete of a company's item leaves.
func (s *Store) itemOf(op *store.Op, at time.Time) attributes {
	item := itemKey(op.Partition.String(), op.Key)
	item[attrEntity] = text(op.Entity)
	item[attrAt] = number(at.UnixMilli())
	if op.Quiet {
		item[attrQuiet] = yes()
	}
	if op.Action == store.Delete {
		item[attrGone] = yes()
		item[attrVersion] = number(op.Version)
		item[attrExpires] = number(at.Add(-tombstoneAge).Unix())
		return item
	}
	item[attrVersion] = number(op.Version + 1)
	if expires := expiry.Seconds(op.Expires); expires != 0 {
		item[attrExpires] = number(expires)
	}
	// DynamoDB strings must be UTF-8. A JSON reader replaces invalid bytes by U+FFFD, so itemOf does the same.
	s.packer.pack(item, strings.ToValidUTF8(string(op.Body), "\ufffd"))
	return item
}

// scanItem converts DynamoDB attributes to an item.
func scanItem(a attributes) (store.Item, error) {
	key, _ := a[attrKey].(*types.AttributeValueMemberS)
	entity, _ := a[attrEntity].(*types.AttributeValueMemberS)
	body, _ := a[attrBody].(*types.AttributeValueMemberS)
	packed, _ := a[attrPacked].(*types.AttributeValueMemberB)
	version, verr := integer(a[attrVersion])
	at, aerr := integer(a[attrAt])
	expires, eerr := integer(a[attrExpires])
	gone := a[attrGone] != nil
	if key == nil || entity == nil || verr != nil || aerr != nil || eerr != nil || body == nil && packed == nil && !gone {
		return store.Item{}, fmt.Errorf("store: %v is not an item of this program", itemName(a))
	}
	item := store.Item{Key: key.Value, Entity: entity.Value, Version: version, At: time.UnixMilli(at).UTC(), Expires: expiry.Time(expires)}
	var err error
	switch {
	case body != nil:
		item.Body = json.RawMessage(body.Value)
	case packed != nil:
		if item.Body, err = unpack(packed.Value); err != nil {
			err = fmt.Errorf("store: %s: %w", itemName(a), err)
		}
	}
	return item, err
}

func itemName(a attributes) string {
	partition, _ := a[attrPartition].(*types.AttributeValueMemberS)
	key, _ := a[attrKey].(*types.AttributeValueMemberS)
	if partition == nil || key == nil {
		return "an item without a key"
	}
	return partition.Value + " " + key.Value
}

// integer parses a number. It returns 0 for an absent attribute.
func integer(a types.AttributeValue) (int64, error) {
	switch n := a.(type) {
	case nil:
		return 0, nil
	case *types.AttributeValueMemberN:
		return strconv.ParseInt(n.Value, 10, 64)
	}
	return 0, fmt.Errorf("%T is not a number", a)
}
