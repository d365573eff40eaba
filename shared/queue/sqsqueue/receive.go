package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"orgops/shared/awsclient"
	"orgops/shared/queue"
	"orgops/shared/wait"
)

// shortPause is between receives that cannot wait at SQS, because ctx ends within a second.
const shortPause = 100 * time.Millisecond

// Receive implements queue.Queue. It waits at SQS for 20 s at a time, and never beyond the deadline of ctx: what SQS hands
// to a caller who has gone is under a lease that nobody knows of. So it is when ctx is cancelled without a deadline;
// such messages come again when the lease runs out.
func (q *Queue) Receive(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	if most < 1 || lease <= 0 {
		return nil, fmt.Errorf("queue: a receive of %d messages for %v", most, lease)
	}
	for !over(ctx) {
		got, err := q.round(ctx, min(most, queue.MaxBatch), lease)
		if len(got) > 0 || err != nil && !over(ctx) {
			return got, err
		}
	}
	return nil, nil
}

func over(ctx context.Context) bool { return ctx.Err() != nil }

// round receives once: nothing and nil when nothing due came.
func (q *Queue) round(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	polled := pollFor(ctx)
	messages, err := q.receive(ctx, q.o.URL, most, polled, lease)
	if err != nil {
		return nil, outside(ctx, err)
	}
	got, early := q.open(messages)
	if err := q.sendOn(ctx, early); err != nil && len(got) == 0 {
		return nil, err // beside messages that are due it can wait: those that were not sent on come again
	}
	if len(got) == 0 && polled == 0 {
		wait.For(ctx, shortPause)
	}
	return got, nil
}

// pollFor is how long a receive may wait at SQS, in whole seconds.
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

// open divides messages into those that are due and those that came early.
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

// sendOn puts messages off until they are due, or as far toward it as SQS can.
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

// outside makes an error of SQS's one of the contract's. Only what SQS blames on the caller is no unavailability.
func outside(ctx context.Context, err error) error {
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
