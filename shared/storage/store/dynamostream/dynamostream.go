// Package dynamostream reads the stream of a DynamoDB table. dynamostore makes a feed of it.
package dynamostream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"orgops/shared/base/awsclient"
	"orgops/shared/storage/store/dynamostore"
)

// tryTimeout limits one try of a request.
const tryTimeout = 5 * time.Second

// Client has the methods of the SDK's client that Stream uses.
type Client interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Stream implements dynamostore.Stream.
type Stream struct{ client Client }

// New returns a Stream that reads from DynamoDB, without making any request. Emulators serve streams at the table's address.
func New(access awsclient.Access) Stream {
	return Of(dynamodbstreams.New(dynamodbstreams.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("DYNAMODB_STREAMS", "DYNAMODB"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	}))
}

// Of returns a Stream that reads through client.
func Of(client Client) Stream { return Stream{client} }

// Shards implements dynamostore.Stream.
func (s Stream) Shards(ctx context.Context, arn string) ([]dynamostore.Shard, error) {
	var found []dynamostore.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		out, err := s.client.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		if out.StreamDescription == nil {
			return nil, errors.New("response without a stream description")
		}
		for _, shard := range out.StreamDescription.Shards {
			open := shard.SequenceNumberRange == nil || shard.SequenceNumberRange.EndingSequenceNumber == nil
			found = append(found, dynamostore.Shard{ID: aws.ToString(shard.ShardId), Parent: aws.ToString(shard.ParentShardId), Open: open})
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return found, nil
		}
	}
}

// Iterator implements dynamostore.Stream.
func (s Stream) Iterator(ctx context.Context, arn, shard string, from dynamostore.Start, after string) (string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
	switch from {
	case dynamostore.Newest:
		in.ShardIteratorType = types.ShardIteratorTypeLatest
	case dynamostore.After:
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &after
	case dynamostore.At:
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAtSequenceNumber, &after
	case dynamostore.Oldest:
	}
	out, err := s.client.GetShardIterator(ctx, in)
	if err != nil {
		return "", contractError(err)
	}
	return aws.ToString(out.ShardIterator), nil
}

// Read implements dynamostore.Stream.
func (s Stream) Read(ctx context.Context, iterator string, n int) (records []dynamostore.Record, next string, err error) {
	out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator, Limit: aws.Int32(int32(n))})
	if err != nil {
		return nil, "", contractError(err)
	}
	records = make([]dynamostore.Record, 0, len(out.Records))
	for _, r := range out.Records {
		records = append(records, recordOf(r))
	}
	return records, aws.ToString(out.NextShardIterator), nil
}

// contractError marks the errors that a reader can recover from.
func contractError(err error) error {
	var expired *types.ExpiredIteratorException
	var trimmed *types.TrimmedDataAccessException
	var gone *types.ResourceNotFoundException
	switch {
	case errors.As(err, &expired):
		return fmt.Errorf("%w: %w", dynamostore.ErrExpired, err)
	case errors.As(err, &trimmed):
		return fmt.Errorf("%w: %w", dynamostore.ErrTrimmed, err)
	case errors.As(err, &gone):
		return fmt.Errorf("%w: %w", dynamostore.ErrGone, err)
	}
	return err
}
