package dynamostore

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"orgops/shared/store"
)

// shard is one of the stream's.
type shard struct {
	id, parent string

	iterator string // where the next read begins; "" has to be asked for
	// tip reads beside the shard from the end that it had when Consume began, until something comes: that is the first
	// change which no earlier Consume can have seen. "" when there is none to wait for.
	tip   string
	fresh string // the sequence number from which on changes are no replay; "" is not known
	anew  bool   // the shard began after Consume did: none of it is a replay

	// Under the consumer's lock.
	cursor   string // the last record read; "" is none
	ended    bool   // read to its end
	batches  []*batch
	position string // finished up to here
	saved    string // the position as stored
	closed   bool   // the end as stored
}

// read hands over a page of a shard; any is false when it had nothing.
func (c *consumer) read(ctx context.Context, sh *shard, n int) (any bool, err error) {
	if sh.iterator == "" {
		if err := c.aim(ctx, sh); err != nil || sh.iterator == "" {
			return false, err
		}
	}
	out, err := c.store.stream.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &sh.iterator, Limit: aws.Int32(int32(n))})
	if err != nil {
		return false, c.missed(ctx, sh, err)
	}
	sh.iterator = aws.ToString(out.NextShardIterator)
	if len(out.Records) > 0 && sh.fresh == "" && !sh.anew && sh.tip != "" {
		c.peek(ctx, sh)
	}
	batches := c.batches(ctx, sh, out.Records)
	c.admit(sh, batches, out.Records)
	for _, b := range batches {
		if c.failing() || ctx.Err() != nil {
			c.keep(b)
			continue
		}
		c.hand(ctx, b)
	}
	if sh.iterator == "" {
		c.end(sh)
	}
	return len(out.Records) > 0, nil
}

// batches makes a page's changes batches: one of replays, one of others. Records that are no part of the feed are in none.
func (c *consumer) batches(ctx context.Context, sh *shard, records []types.Record) []*batch {
	var out []*batch
	for _, raw := range records {
		r := recordOf(raw)
		change, ok, err := r.Change()
		if err != nil {
			c.store.o.Logger.ErrorContext(ctx, "a record of the change stream is left out", "consumer", c.name, "error", err)
		}
		if !ok {
			continue
		}
		replay := sh.replayed(r.Sequence)
		if len(out) == 0 || out[len(out)-1].replay != replay {
			out = append(out, &batch{shard: sh, replay: replay})
		}
		b := out[len(out)-1]
		b.changes, b.last = append(b.changes, change), r.Sequence
	}
	return out
}

func (sh *shard) replayed(sequence string) bool {
	if sh.anew {
		return false
	}
	return sh.fresh == "" || store.Sequence(sequence).Compare(store.Sequence(sh.fresh)) < 0
}

// peek looks for the first change behind the end that the shard had. What cannot be told is a replay.
func (c *consumer) peek(ctx context.Context, sh *shard) {
	out, err := c.store.stream.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &sh.tip, Limit: aws.Int32(1)})
	if err != nil {
		if ranOut(err) {
			sh.tip, _ = c.iterator(ctx, sh, types.ShardIteratorTypeLatest)
		}
		return
	}
	if len(out.Records) > 0 {
		sh.fresh, sh.tip = recordOf(out.Records[0]).Sequence, ""
		return
	}
	sh.tip = aws.ToString(out.NextShardIterator)
}

// aim gets an iterator behind the cursor, or at the oldest record.
func (c *consumer) aim(ctx context.Context, sh *shard) (err error) {
	kind := types.ShardIteratorTypeTrimHorizon
	if sh.cursor != "" {
		kind = types.ShardIteratorTypeAfterSequenceNumber
	}
	if sh.iterator, err = c.iterator(ctx, sh, kind); err != nil {
		return c.missed(ctx, sh, err)
	}
	return nil
}

func (c *consumer) iterator(ctx context.Context, sh *shard, kind types.ShardIteratorType) (string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &c.arn, ShardId: &sh.id, ShardIteratorType: kind}
	if kind == types.ShardIteratorTypeAfterSequenceNumber {
		in.SequenceNumber = &sh.cursor
	}
	out, err := c.store.stream.GetShardIterator(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ShardIterator), nil
}

func ranOut(err error) bool {
	var e *types.ExpiredIteratorException
	return errors.As(err, &e)
}

// missed deals with a shard that cannot be read on as it was. An iterator lives for a quarter of an hour: another is
// asked for. Records older than a day are gone, and shards with them: what is left is gone on with.
func (c *consumer) missed(ctx context.Context, sh *shard, err error) error {
	var trimmed *types.TrimmedDataAccessException
	var gone *types.ResourceNotFoundException
	log := c.store.o.Logger.With("consumer", c.name, "shard", sh.id, "after", sh.cursor)
	sh.iterator = ""
	switch {
	case ranOut(err):
		return nil
	case errors.As(err, &trimmed):
		log.ErrorContext(ctx, "changes were lost: the stream no longer has what follows, for it keeps a day", "error", err)
		c.mu.Lock()
		sh.cursor = ""
		c.mu.Unlock()
		return nil
	case errors.As(err, &gone):
		log.ErrorContext(ctx, "changes may have been lost: the stream no longer has the shard, for it keeps a day", "error", err)
		c.end(sh)
		return nil
	}
	return err
}

// end notes that there is nothing more in a shard.
func (c *consumer) end(sh *shard) {
	c.mu.Lock()
	sh.ended = true
	c.mu.Unlock()
	c.lookSoon = true
	poke(c.moved)
}
