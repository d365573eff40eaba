package dynamostore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/storage/store"
)

// Commit implements store.Store in one round trip: a conditional write for one op, a transaction for several.
//
// Commit repeats a try that got no answer. The repeated try must not mistake the success of an earlier try for another
// caller's write. All tries of a transaction therefore share a random token. A digest of the ops cannot be the token: a
// caller may commit the same ops again later, for example after a deletion. All tries of a single write store the same
// random name in the item.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) error {
	if err := store.CheckOps(ops); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	placed, err := s.place(ctx, ops)
	if err != nil {
		return err
	}
	err = s.commit(ctx, placed)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || !placed[conflict.Index].guessed {
		return err
	}
	s.places.forget(ops) // another process may have removed the item where it was, and created it at the present level
	if placed, err = s.place(ctx, ops); err != nil {
		return err
	}
	return s.commit(ctx, placed)
}

func (s *Store) commit(ctx context.Context, ops []placed) error {
	ctx, call := begin(ctx)
	var cost []Usage
	var err error
	switch {
	case len(ops) > 1 || ops[0].Action == store.Check || ops[0].guard != nil:
		cost, err = s.transact(ctx, call, ops)
	case leavesTombstone(&ops[0].Op) || ops[0].Action == store.Put:
		cost, err = s.put(ctx, call, &ops[0])
	default:
		cost, err = s.remove(ctx, call, &ops[0])
	}
	s.o.Meter.add(call.trips, cost)
	return err
}

// leavesTombstone reports whether an op deletes a company's item by writing a tombstone.
func leavesTombstone(op *store.Op) bool {
	_, company := op.Partition.CompanyID()
	return company && op.Action == store.Delete
}

// condition holds a condition expression and its parameters.
type condition struct {
	expression *string
	names      map[string]string
	values     attributes
}

func conditionOf(op *placed, now time.Time) condition {
	c := condition{names: map[string]string{"#e": attrExpires}, values: attributes{":now": number(now.Unix())}}
	switch {
	case op.over:
		c.expression = aws.String("#e <= :now")
		return c
	case op.Condition == store.IfAbsent:
		c.names["#k"] = attrPartition
		c.expression = aws.String("attribute_not_exists(#k) OR #e <= :now")
		return c
	}
	c.names["#v"], c.values[":v"] = attrVersion, number(op.Version)
	c.expression = aws.String("#v = :v AND (attribute_not_exists(#e) OR #e > :now)")
	return c
}

// put writes one item.
func (s *Store) put(ctx context.Context, call *call, op *placed) ([]Usage, error) {
	now := s.now()
	item, c := s.itemOf(&op.Op, now), conditionOf(op, now)
	name := make([]byte, 8)
	_, _ = rand.Read(name) // never returns an error
	item[attrWrite] = &types.AttributeValueMemberB{Value: name}
	out, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.o.Table, Item: item, ReturnConsumedCapacity: s.capacity(),
		ConditionExpression: c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		cost := writing(out.ConsumedCapacity)
		for _, u := range cost {
			s.o.Meter.wrote(item[attrPartition], u.Write)
		}
		return cost, nil
	case errors.As(err, &failed):
		if stored, ok := failed.Item[attrWrite].(*types.AttributeValueMemberB); ok && bytes.Equal(stored.Value, name) {
			return nil, nil // an earlier try of this write succeeded
		}
		return nil, &store.ConflictError{Index: 0, Key: op.Key}
	}
	return nil, call.contractWriteError(ctx, err)
}

// remove deletes one item of a shared partition.
func (s *Store) remove(ctx context.Context, call *call, op *placed) ([]Usage, error) {
	c := conditionOf(op, s.now())
	out, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.o.Table, Key: itemKey(op.Partition.String(), op.Key), ReturnConsumedCapacity: s.capacity(),
		ConditionExpression: c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return writing(out.ConsumedCapacity), nil
	case errors.As(err, &failed) && !call.lost:
		return nil, &store.ConflictError{Index: 0, Key: op.Key}
	}
	return nil, call.contractWriteError(ctx, err)
}

// transact writes all ops or none.
func (s *Store) transact(ctx context.Context, call *call, ops []placed) ([]Usage, error) {
	now := s.now()
	items := make([]types.TransactWriteItem, len(ops))
	for i := range ops {
		items[i] = s.transactItem(&ops[i], now)
	}
	items, owners := s.guard(items, ops)
	if len(items) > store.MaxOps {
		return nil, fmt.Errorf("%w: while the company begins another level, a commit may create fewer items", store.ErrUnavailable)
	}
	_, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: items, ClientRequestToken: aws.String(rand.Text()),
	})
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		return s.o.Meter.transacting(items), nil
	case errors.As(err, &cancelled):
		failed := len(ops)
		for i, reason := range cancelled.CancellationReasons {
			if aws.ToString(reason.Code) == "ConditionalCheckFailed" && i < len(owners) {
				failed = min(failed, owners[i])
			}
		}
		if failed < len(ops) {
			return nil, &store.ConflictError{Index: failed, Key: ops[failed].Key}
		}
		// A cancelled transaction wrote nothing in any of its tries, because all tries share the token.
		return nil, call.contractError(ctx, fmt.Errorf("store: transaction cancelled: %w", err))
	}
	return nil, call.contractWriteError(ctx, err)
}

// guard adds the checks that another home of a created item lacks it. It returns the index of the op of each item.
func (s *Store) guard(items []types.TransactWriteItem, ops []placed) ([]types.TransactWriteItem, []int) {
	owners := make([]int, 0, len(items))
	for i := range items {
		owners = append(owners, i)
	}
	for i := range ops {
		if ops[i].guard == nil {
			continue
		}
		owners = append(owners, i)
		items = append(items, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &s.o.Table, Key: itemKey(ops[i].guard.String(), ops[i].Key),
			ConditionExpression:      aws.String("attribute_not_exists(#k) OR attribute_exists(#g)"),
			ExpressionAttributeNames: map[string]string{"#k": attrPartition, "#g": attrGone},
		}})
	}
	return items, owners
}

func (s *Store) transactItem(op *placed, now time.Time) types.TransactWriteItem {
	c := conditionOf(op, now)
	switch {
	case op.Action == store.Check:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &s.o.Table, Key: itemKey(op.Partition.String(), op.Key),
			ConditionExpression: c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		}}
	case op.Action == store.Delete && !leavesTombstone(&op.Op):
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: &s.o.Table, Key: itemKey(op.Partition.String(), op.Key),
			ConditionExpression: c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		}}
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.o.Table, Item: s.itemOf(&op.Op, now),
		ConditionExpression: c.expression, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
	}}
}
