package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
)

// readPause separates two reads of Records. A shard allows five reads a second for all readers together.
const readPause = 500 * time.Millisecond

// Records calls do with each record of a shard from the sequence number first to last, in order. arn names the stream; "" means
// the table's current one. Records returns ErrTrimmed or ErrGone if the stream no longer holds the records, and the error of
// ctx if the shard does not reach last before ctx ends.
func (s *Store) Records(ctx context.Context, arn, shard, first, last string, do func(Record) error) error {
	if s.o.Stream == nil {
		return errors.New("store: opened without a stream")
	}
	if arn == "" {
		var err error
		if arn, err = s.streamARN(ctx); err != nil {
			return err
		}
	}
	iterator, err := s.o.Stream.Iterator(ctx, arn, shard, At, first)
	for err == nil && iterator != "" {
		var records []Record
		if records, iterator, err = s.o.Stream.Read(ctx, iterator, maxBatch); err != nil {
			break
		}
		for _, r := range records {
			order := sequenceOf(r.Sequence).Compare(sequenceOf(last))
			if order > 0 {
				return nil
			}
			if err := do(r); err != nil || order == 0 {
				return err
			}
		}
		if !wait.For(ctx, readPause) {
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("shard %s: %w", shard, err)
	}
	return nil
}

// streamARN returns the name of the table's stream.
func (s *Store) streamARN(ctx context.Context) (string, error) {
	ctx, call := begin(ctx)
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.o.Table})
	if err != nil {
		return "", fmt.Errorf("stream of table %s: %w", s.o.Table, call.contractError(ctx, err))
	}
	arn := aws.ToString(out.Table.LatestStreamArn)
	if arn == "" {
		return "", fmt.Errorf("store: table %s has no stream", s.o.Table)
	}
	return arn, nil
}

// sequenceOf returns a sequence number of the stream in the form of a change's.
func sequenceOf(number string) store.Sequence { return store.Sequence(strings.TrimLeft(number, "0")) }
