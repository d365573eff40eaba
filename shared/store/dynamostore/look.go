package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// streams is what is asked of the stream's client.
type streams interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// lookEvery is how often shards are looked for while none has ended.
const lookEvery = 10 * time.Second

// begin finds the stream, its shards, and where each goes on.
func (c *consumer) begin(ctx context.Context) error {
	ctx, call := begin(ctx)
	out, err := c.store.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &c.store.o.Table})
	if err != nil {
		return fmt.Errorf("stream of table %s: %w", c.store.o.Table, call.outside(ctx, err))
	}
	if c.arn = aws.ToString(out.Table.LatestStreamArn); c.arn == "" {
		return fmt.Errorf("store: table %s has no stream", c.store.o.Table)
	}
	found, err := c.describe(ctx)
	if err != nil {
		return call.outside(ctx, err)
	}
	positions, err := c.positions(ctx)
	if err != nil {
		return fmt.Errorf("positions of %s: %w", c.name, err)
	}
	c.lost(ctx, found, positions)
	for _, f := range found {
		if err := c.add(ctx, f, positions, false); err != nil {
			return call.outside(ctx, err)
		}
	}
	c.lookedAt = time.Now()
	return nil
}

// look takes in shards that began since, and forgets those that the stream has forgotten.
func (c *consumer) look(ctx context.Context) error {
	if !c.lookSoon && time.Since(c.lookedAt) < lookEvery {
		return nil
	}
	if c.lookSoon && time.Since(c.lookedAt) < c.store.o.Poll {
		return nil
	}
	found, err := c.describe(ctx)
	if err != nil {
		return err
	}
	c.lookedAt, c.lookSoon = time.Now(), false
	known := make(map[string]bool)
	for _, f := range found {
		known[aws.ToString(f.ShardId)] = true
		if c.shards[aws.ToString(f.ShardId)] == nil {
			if err := c.add(ctx, f, nil, true); err != nil {
				return err
			}
		}
	}
	c.forget(known)
	return nil
}

// describe lists the shards that the stream still has.
func (c *consumer) describe(ctx context.Context) ([]types.Shard, error) {
	var found []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &c.arn}
	for {
		out, err := c.store.stream.DescribeStream(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("shards: %w", err)
		}
		if out.StreamDescription == nil {
			return nil, errors.New("shards: an answer without a stream")
		}
		found = append(found, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return found, nil
		}
	}
}

// add takes in a shard. began is true when it was not there when Consume began.
func (c *consumer) add(ctx context.Context, f types.Shard, positions map[string]position, began bool) error {
	at := positions[aws.ToString(f.ShardId)]
	sh := &shard{
		id: aws.ToString(f.ShardId), parent: aws.ToString(f.ParentShardId), anew: began,
		saved: at.Sequence, ended: at.Ended, closed: at.Ended,
	}
	open := f.SequenceNumberRange == nil || f.SequenceNumberRange.EndingSequenceNumber == nil
	if open && !began && !at.Ended {
		var err error
		if sh.tip, err = c.iterator(ctx, sh, types.ShardIteratorTypeLatest); err != nil {
			return fmt.Errorf("end of shard %s: %w", sh.id, err)
		}
	}
	sh.lane = c.window.Lane(at.Sequence)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards[sh.id] = sh
	c.order = append(c.order, sh)
	return nil
}

// forget drops shards that are finished and gone from the stream.
func (c *consumer) forget(known map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = slices.DeleteFunc(c.order, func(sh *shard) bool {
		drop := !known[sh.id] && sh.finished()
		if drop {
			delete(c.shards, sh.id)
			c.window.Remove(sh.lane)
		}
		return drop
	})
}

// lost tells of shards that were begun, not finished, and are gone.
func (c *consumer) lost(ctx context.Context, found []types.Shard, positions map[string]position) {
	for id, at := range positions {
		there := slices.ContainsFunc(found, func(f types.Shard) bool { return aws.ToString(f.ShardId) == id })
		if !there && !at.Ended {
			c.store.o.Logger.ErrorContext(ctx, "changes may have been lost: the stream no longer has a shard that was not finished, for it keeps a day",
				"consumer", c.name, "shard", id, "after", at.Sequence)
		}
	}
}
