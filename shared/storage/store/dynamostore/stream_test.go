package dynamostore_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// stream fakes a stream in memory. Tests split its shards and expire its records and iterators, which DynamoDB Local, with
// its single shard, does not allow.
type stream struct {
	mu     sync.Mutex
	shards []*testShard
	next   int // sequence number
	era    int // iterators of earlier eras have expired
	busy   int // number of reads to refuse
	reads  int
	looks  int // number of DescribeStream calls
	onRead func(shard string)
}

type testShard struct {
	id, parent string
	records    []types.Record
	trimmed    int // number of oldest records that are gone
	closed     bool
}

// open adds an empty shard.
func (s *stream) open(id, parent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = append(s.shards, &testShard{id: id, parent: parent})
}

func (s *stream) shard(id string) *testShard {
	for _, sh := range s.shards {
		if sh.id == id {
			return sh
		}
	}
	return nil
}

// write appends the creation of a company's items to a shard.
func (s *stream) write(shard, company string, keys ...string) {
	for _, key := range keys {
		s.add(shard, map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "C#" + company}, "sk": &types.AttributeValueMemberS{Value: key},
			"entity": &types.AttributeValueMemberS{Value: "note"}, "version": &types.AttributeValueMemberN{Value: "1"},
			"at": &types.AttributeValueMemberN{Value: "1700000000123"}, "body": &types.AttributeValueMemberS{Value: "{}"},
		})
	}
}

func (s *stream) add(shard string, image map[string]types.AttributeValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	sh := s.shard(shard)
	sh.records = append(sh.records, types.Record{Dynamodb: &types.StreamRecord{
		SequenceNumber: aws.String(fmt.Sprintf("%021d", s.next)), NewImage: image, ApproximateCreationDateTime: aws.Time(time.Unix(1700000000, 0)),
	}})
}

func (s *stream) change(shard string, do func(*testShard)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.shard(shard))
}

// looked returns the number of DescribeStream calls.
func (s *stream) looked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

func (s *stream) close(shard string) { s.change(shard, func(sh *testShard) { sh.closed = true }) }

// expire invalidates all iterators.
func (s *stream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era++
}

// remove drops a shard from the stream.
func (s *stream) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, sh := range s.shards {
		if sh.id == id {
			s.shards = append(s.shards[:i:i], s.shards[i+1:]...)
			return
		}
	}
}

func (s *stream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	var d types.StreamDescription
	after := in.ExclusiveStartShardId
	for _, sh := range s.shards {
		if after != nil {
			if sh.id == *after {
				after = nil
			}
			continue
		}
		if len(d.Shards) == 2 { // page size
			d.LastEvaluatedShardId = d.Shards[1].ShardId
			break
		}
		r := &types.SequenceNumberRange{StartingSequenceNumber: aws.String("0")}
		if sh.closed {
			r.EndingSequenceNumber = aws.String("9")
		}
		d.Shards = append(d.Shards, types.Shard{ShardId: aws.String(sh.id), ParentShardId: aws.String(sh.parent), SequenceNumberRange: r})
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: &d}, nil
}

func (s *stream) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shard(*in.ShardId)
	if sh == nil {
		return nil, &types.ResourceNotFoundException{}
	}
	at := sh.trimmed
	switch in.ShardIteratorType {
	case types.ShardIteratorTypeLatest:
		at = len(sh.records)
	case types.ShardIteratorTypeAfterSequenceNumber, types.ShardIteratorTypeAtSequenceNumber:
		at = 0
		past := func(number string) bool {
			return number > *in.SequenceNumber || number == *in.SequenceNumber && in.ShardIteratorType == types.ShardIteratorTypeAtSequenceNumber
		}
		for at < len(sh.records) && !past(*sh.records[at].Dynamodb.SequenceNumber) {
			at++
		}
		if at < sh.trimmed {
			return nil, &types.TrimmedDataAccessException{}
		}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: s.iterator(sh, at)}, nil
}

func (s *stream) iterator(sh *testShard, at int) *string {
	return aws.String(fmt.Sprintf("%s/%d/%d", sh.id, at, s.era))
}

func (s *stream) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(*in.ShardIterator, "/")
	at, _ := strconv.Atoi(parts[1])
	s.reads++
	if s.busy > 0 {
		s.busy--
		return nil, &types.LimitExceededException{}
	}
	if parts[2] != strconv.Itoa(s.era) {
		return nil, &types.ExpiredIteratorException{}
	}
	sh := s.shard(parts[0])
	if sh == nil {
		return nil, &types.ResourceNotFoundException{}
	}
	if at < sh.trimmed {
		return nil, &types.TrimmedDataAccessException{}
	}
	if s.onRead != nil {
		s.onRead(sh.id)
	}
	end := min(at+int(*in.Limit), len(sh.records))
	out := &dynamodbstreams.GetRecordsOutput{Records: sh.records[at:end]}
	if end < len(sh.records) || !sh.closed {
		out.NextShardIterator = s.iterator(sh, end)
	}
	return out, nil
}
