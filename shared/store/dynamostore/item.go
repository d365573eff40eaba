package dynamostore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/store"
)

// The attributes of an item.
const (
	attrPartition = "pk"
	attrKey       = "sk"
	attrEntity    = "entity"
	attrVersion   = "version"
	attrAt        = "at"
	attrExpires   = "expires" // absent: never
	attrBody      = "body"
	attrPacked    = "packed" // the body in gzip; then there is no other
	attrQuiet     = "quiet"  // the write that made the item is no change; absent: it is one
	attrGone      = "gone"   // a tombstone; absent: an item
	attrWrite     = "write"  // names the write, where a repeated try must be told from another's write
)

// graveAge is how long ago a tombstone expired: more than clocks differ by, and less than the five years that TTL looks back.
const graveAge = time.Hour

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func yes() types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: true} }

func itemKey(partition, key string) attributes {
	return attributes{attrPartition: text(partition), attrKey: text(key)}
}

// itemOf is the item that a put makes, or the tombstone that a delete of a company's item leaves.
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
		item[attrExpires] = number(at.Add(-graveAge).Unix())
		return item
	}
	version := int64(1)
	if op.Condition == store.IfVersion {
		version = op.Version + 1
	}
	item[attrVersion] = number(version)
	if !op.Expires.IsZero() {
		item[attrExpires] = number(max(op.Expires.Unix(), 1))
	}
	// A string must be UTF-8. Where a body is not, readers of its JSON would see the replacement character anyway.
	s.packer.pack(item, op, strings.ToValidUTF8(string(op.Body), "\ufffd"))
	return item
}

// scanItem reads an item.
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
	item := store.Item{Key: key.Value, Entity: entity.Value, Version: version, At: time.UnixMilli(at).UTC(), Expires: expiry(expires)}
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
		return "what has no key"
	}
	return partition.Value + " " + key.Value
}

// integer reads a number; an absent one is 0.
func integer(a types.AttributeValue) (int64, error) {
	switch n := a.(type) {
	case nil:
		return 0, nil
	case *types.AttributeValueMemberN:
		return strconv.ParseInt(n.Value, 10, 64)
	}
	return 0, fmt.Errorf("%T is no number", a)
}

func expiry(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// live reports whether an item with this expiry is there at now.
func live(expires, now time.Time) bool { return expires.IsZero() || now.Unix() < expires.Unix() }
