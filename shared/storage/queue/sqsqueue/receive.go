package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"orgops/shared/base/awsclient"
	"orgops/shared/base/wait"
	"orgops/shared/storage/queue"
)

// shortPause separates two receives when ctx ends within a second. Such a receive cannot wait at SQS, which counts whole
// seconds.
const shortPause = 100 * time.Millisecond

// Receive implements queue.Queue. It polls SQS for up to 20 s at a time, but never beyond the deadline of ctx. Later, SQS
// would lease a message to a caller that has gone. A ctx that is cancelled without a deadline can still cause such a lease.
// SQS redelivers the message when the lease expires.
func (q *Queue) Receive(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	if most < 1 || lease <= 0 {
		return nil, fmt.Errorf("queue: receive of %d messages for %v; ask for at least one and a positive lease", most, lease)
	}
	for !ended(ctx) {
		got, err := q.round(ctx, min(most, queue.MaxBatch), lease)
		if len(got) > 0 || err != nil && !ended(ctx) {
			return got, err
		}
	}
	return nil, nil
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// round receives once. It returns no message and no error if no message was due.
func (q *Queue) round(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	polled := pollFor(ctx)
	messages, err := q.receive(ctx, q.o.URL, most, polled, lease)
	if err != nil {
		return nil, contractError(ctx, err)
	}
	got, early := q.open(messages)
	if err := q.sendOn(ctx, early); err != nil && len(got) == 0 {
		return nil, err // with due messages the error is ignored: SQS redelivers the early messages later
	}
	if len(got) == 0 && polled == 0 {
		wait.For(ctx, shortPause)
	}
	return got, nil
}

// pollFor returns how long a receive may wait at SQS, in whole seconds.
func pollFor(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return maxWait
	}
	return min(max(time.Until(deadline), 0).Truncate(time.Second), maxWait)
}

func (q *Queue) receive(ctx context.Context, url string, most int, poll, lease time.Duration) ([]types.Message, error) {
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: int32(most), WaitTimeSeconds: int32(poll / time.Second),
		VisibilityTimeout: seconds(min(lease, maxLease)), MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{
			types.MessageSystemAttributeNameApproximateReceiveCount, types.MessageSystemAttributeNameSentTimestamp,
		},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// open separates due messages from early ones.
func (q *Queue) open(messages []types.Message) (got, early []queue.Received) {
	now := q.o.Now()
	for i := range messages {
		r := envelopeOf(&messages[i]).Received()
		if r.Due.After(now) {
			early = append(early, r)
		} else {
			got = append(got, r)
		}
	}
	return got, early
}

// sendOn delays early messages again: until they are due, or for the longest delay of SQS.
func (q *Queue) sendOn(ctx context.Context, early []queue.Received) error {
	if len(early) == 0 {
		return nil
	}
	messages := make([]queue.Message, len(early))
	for i := range early {
		messages[i] = early[i].Message
	}
	if err := q.Send(ctx, messages...); err != nil {
		return err
	}
	return q.Ack(ctx, early...)
}

// contractError wraps an error of SQS as an error of the queue contract. All but client errors count as ErrUnavailable.
func contractError(ctx context.Context, err error) error {
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	var api smithy.APIError
	server, answered := awsclient.ServerFault(err)
	if errors.As(err, &api) && !throttles(api.ErrorCode()) && answered && !server {
		return fmt.Errorf("queue: %w", err)
	}
	return fmt.Errorf("%w: %w", queue.ErrUnavailable, err)
}

func throttles(code string) bool {
	switch code {
	case "RequestThrottled", "ThrottlingException", "Throttling", "OverLimit", "KmsThrottled":
		return true
	}
	return false
}
