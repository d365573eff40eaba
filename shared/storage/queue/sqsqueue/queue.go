// Package sqsqueue implements the delayed queue, queue.Queue, over two standard SQS queues: one for messages and one for
// dead letters.
//
// SQS delays a message by at most 15 minutes. A message that is due later carries its due time. A receiver that gets the
// message early sends it again with a further delay. A function on Lambda must not do that: see package timerqueue. Defer sends a copy and deletes the original, so that lease, receive
// count and age start over. Every operation sends first and deletes second: a failure in between duplicates a message but
// never loses it.
//
// A body that SQS accepts as text becomes the body of the SQS message. Any other body becomes a binary attribute.
package sqsqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/base/awsclient"
	"orgops/shared/storage/queue"
)

const (
	maxDelay    = 15 * time.Minute
	maxWait     = 20 * time.Second // of one receive
	maxLease    = 12 * time.Hour
	callTimeout = 10 * time.Second         // of one try of any other call
	tryTimeout  = maxWait + 10*time.Second // of any try
)

// Options configures a queue.
type Options struct {
	URL  string // of the queue
	Dead string // of its dead-letter queue

	Now func() time.Time // clock of due times; default time.Now
	// FairQueues sends a message's group as SQS's message group. SQS then keeps the backlog of one group from delaying the
	// other groups. Emulators that support message groups only in FIFO queues refuse such a message.
	FairQueues bool
}

// Queue sends to and receives from a pair of queues. It holds only connections, so it has no Close.
type Queue struct {
	client *sqs.Client
	o      Options
}

// New returns a queue without making any request.
func New(access awsclient.Access, o Options) *Queue {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Queue{client: newClient(access), o: o}
}

func newClient(access awsclient.Access) *sqs.Client {
	return sqs.New(sqs.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("SQS"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})
}

// Ready returns an error when the queue or its dead-letter queue cannot be used. It returns errors of SQS unwrapped.
func (q *Queue) Ready(ctx context.Context) error {
	for _, url := range []string{q.o.URL, q.o.Dead} {
		if _, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url}); err != nil {
			return err
		}
	}
	return nil
}

// Send implements queue.Queue. It sends in batches; after an error some messages may have been sent.
func (q *Queue) Send(ctx context.Context, messages ...queue.Message) error {
	for i := range messages {
		if n := len(messages[i].Body); n == 0 || n > queue.MaxBody {
			return fmt.Errorf("queue: message of %d bytes; send 1 to %d", n, queue.MaxBody)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	envelopes := make([]envelope, len(messages))
	for i := range messages {
		envelopes[i] = envelope{message: messages[i], group: q.group(messages[i].Group), delay: q.delay(messages[i].Due)}
	}
	return q.sendAll(ctx, q.o.URL, envelopes)
}

// delay returns the seconds for which SQS delays a message due at the given time.
func (q *Queue) delay(due time.Time) int32 {
	if due.IsZero() {
		return 0
	}
	return seconds(min(due.Sub(q.o.Now()), maxDelay))
}

// group returns the message group to send with.
func (q *Queue) group(group string) *string {
	if !q.o.FairQueues || group == "" {
		return nil
	}
	return &group
}

// seconds rounds up, so that no message arrives early.
func seconds(d time.Duration) int32 {
	return int32((max(d, 0) + time.Second - 1) / time.Second)
}

// Ack implements queue.Queue.
func (q *Queue) Ack(ctx context.Context, received ...queue.Received) error {
	receipts := make([]string, len(received))
	for i := range received {
		receipts[i] = received[i].Receipt
	}
	return q.deleteAll(ctx, q.o.URL, receipts)
}

// Release implements queue.Queue.
func (q *Queue) Release(ctx context.Context, r queue.Received, after time.Duration) error {
	entries := []types.ChangeMessageVisibilityBatchRequestEntry{{
		Id: aws.String("0"), ReceiptHandle: &r.Receipt, VisibilityTimeout: seconds(min(after, maxLease)),
	}}
	return retryRefused(ctx, entries, func(ctx context.Context, rest []types.ChangeMessageVisibilityBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.o.URL, Entries: rest})
		if err != nil {
			return nil, err
		}
		return withoutStale(out.Failed), nil
	}, func(e types.ChangeMessageVisibilityBatchRequestEntry) string { return *e.Id })
}

// Defer implements queue.Queue. It accepts a receipt whose lease has expired: the message may then exist twice.
func (q *Queue) Defer(ctx context.Context, r queue.Received, due time.Time) error {
	r.Due = due
	if err := q.Send(ctx, r.Message); err != nil {
		return err
	}
	return q.deleteAll(ctx, q.o.URL, []string{r.Receipt})
}
