package dynamostore

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/storage/store"
)

// maxRounds limits the requests of one Query. Query makes a further request only if expired items left the page short.
const maxRounds = 4

// laterRounds sets the least number of items that requests after the first ask for.
const laterRounds = 100

// Query implements store.Store in one round trip, or in up to maxRounds if expired items leave the page short. It requests
// one item more than it returns, to learn whether more items follow. For a spread company it reads all sub-partitions.
func (s *Store) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	limit := q.Limit
	if limit <= 0 || limit > store.MaxPage {
		limit = store.MaxPage
	}
	r, ok := spanOf(q)
	if !ok {
		return store.Page{}, nil
	}
	l, err := s.spreadOf(ctx, p, q.Prefix)
	if err != nil {
		return store.Page{}, err
	}
	if len(l) > 0 {
		return s.merge(ctx, l, p, q, r, limit)
	}
	ctx, call := begin(ctx)
	in := s.queryInput(p, q, r)
	var page store.Page
	var cost []Usage
	for round := range maxRounds {
		wanted := limit + 1 - len(page.Items)
		if round > 0 { // expired items are often neighbours, so ask for more
			wanted = max(wanted, laterRounds)
		}
		in.Limit = aws.Int32(int32(wanted))
		out, err := s.client.Query(ctx, in)
		if err != nil {
			s.o.Meter.add(call.trips, cost)
			return store.Page{}, call.contractError(ctx, err)
		}
		cost = append(cost, reading(out.ConsumedCapacity)...)
		if page.Items, err = appendItems(page.Items, out.Items, r); err != nil {
			return store.Page{}, err
		}
		page.Next = ""
		if out.LastEvaluatedKey == nil {
			break
		}
		if page.Next, err = keyOf(out.LastEvaluatedKey); err != nil {
			return store.Page{}, err
		}
		// Query returns a page that DynamoDB's size limit cut short, unless the page is empty.
		if len(page.Items) > limit || int(out.ScannedCount) < wanted && len(page.Items) > 0 {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
	s.o.Meter.add(call.trips, cost)
	if len(page.Items) > limit {
		page.Items = page.Items[:limit]
		page.Next = page.Items[limit-1].Key
	}
	return page, nil
}

func (s *Store) queryInput(p store.Partition, q store.Query, r span) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: &s.o.Table, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!q.Desc), ReturnConsumedCapacity: s.capacity(),
		FilterExpression:          aws.String("attribute_not_exists(#e) OR #e > :now"),
		ExpressionAttributeNames:  map[string]string{"#e": attrExpires, "#pk": attrPartition},
		ExpressionAttributeValues: attributes{":now": number(s.o.Now().Unix()), ":pk": text(p.String())},
	}
	condition := "#pk = :pk"
	if r.low != "" {
		in.ExpressionAttributeValues[":low"] = text(r.low)
	}
	if r.high != "" {
		in.ExpressionAttributeValues[":high"] = text(r.high)
	}
	if r.low != "" || r.high != "" {
		in.ExpressionAttributeNames["#sk"] = attrKey
	}
	switch {
	case r.low != "" && r.low == r.prefix && r.begins:
		condition += " AND begins_with(#sk, :low)"
	case r.low != "" && r.high != "":
		condition += " AND #sk BETWEEN :low AND :high"
	case r.low != "":
		condition += " AND #sk >= :low"
	case r.high != "":
		condition += " AND #sk <= :high"
	}
	in.KeyConditionExpression = &condition
	if r.after != "" {
		in.ExclusiveStartKey = itemKey(p.String(), r.after)
	}
	return in
}

// span holds a query's range of keys in DynamoDB's terms.
type span struct {
	prefix string
	begins bool   // the range is every key with the prefix; low is the prefix
	low    string // included; "": the start
	high   string // included; "": the end. If high is the least key after the prefix, appendItems drops its item
	after  string // within the range; "": from its start
}

// spanOf returns the span of a query; ok is false if no key can match.
func spanOf(q store.Query) (r span, ok bool) {
	r = span{prefix: q.Prefix, low: max(q.Prefix, q.From)}
	beyond := q.PrefixEnd()
	if q.To == "" || beyond != "" && q.To >= beyond {
		r.begins = r.low == q.Prefix
		if !r.begins {
			r.high = beyond
		}
	} else {
		r.high = q.To
	}
	if beyond != "" && r.low >= beyond || r.high != "" && r.low > r.high {
		return span{}, false
	}
	if q.After == "" {
		return r, true
	}
	below := q.After < r.low
	above := r.high != "" && q.After > r.high || r.begins && beyond != "" && q.After >= beyond
	switch {
	case below:
		return r, !q.Desc
	case above:
		return r, q.Desc
	}
	r.after = q.After
	return r, true
}

func appendItems(items []store.Item, found []attributes, r span) ([]store.Item, error) {
	for _, a := range found {
		item, err := scanItem(a)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(item.Key, r.prefix) {
			items = append(items, item)
		}
	}
	return items, nil
}

// keyOf returns the sort key in a key that DynamoDB returned.
func keyOf(a attributes) (string, error) {
	key, ok := a[attrKey].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("store: %v is not a key of this table", itemName(a))
	}
	return key.Value, nil
}
