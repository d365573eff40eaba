// Package sqsqueue is the delayed queue in SQS: queue.Queue over two standard queues, one for messages and one for dead
// letters.
//
// SQS delays a message by 15 minutes at most. One that is due later carries the time, and is sent on from delay to delay
// until then; whoever receives it early does so. Putting a message off is sending it anew: its lease, its receive count and
// its age begin again. Where sending and deleting belong together the sending comes first, so that what fails in between
// leaves a message twice, never not at all.
//
// A body that is text as SQS defines it is the message's body; any other is a binary attribute.
package sqsqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"orgops/shared/awsclient"
	"orgops/shared/queue"
)

const (
	maxDelay    = 15 * time.Minute
	maxWait     = 20 * time.Second // of one receive
	maxLease    = 12 * time.Hour
	callTimeout = 10 * time.Second         // of one try of any other call
	tryTimeout  = maxWait + 10*time.Second // of any try
)

// Options says how a queue is opened.
type Options struct {
	URL  string // of the queue
	Dead string // of the queue of its dead letters

	Now func() time.Time // the clock of due times; time.Now when nil
	// FairQueues sends a message's group as SQS's message group, by which SQS keeps one group's backlog from delaying the
	// others'. Emulators that know message groups of FIFO queues only refuse it.
	FairQueues bool
}

// Queue is an open queue. It holds connections only, which need no closing.
type Queue struct {
	client *sqs.Client
	o      Options
}

// New opens a queue. It calls nobody.
func New(access awsclient.Access, o Options) *Queue {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Queue{client: newClient(access), o: o}
}

func newClient(access awsclient.Access) *sqs.Client {
	return sqs.New(sqs.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.Endpoint("SQS"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})
}

// Ready is an error when the queue or that of its dead letters cannot be used. Errors of SQS's are returned as they are.
func (q *Queue) Ready(ctx context.Context) error {
	for _, url := range []string{q.o.URL, q.o.Dead} {
		if _, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url}); err != nil {
			return err
		}
	}
	return nil
}

// Send implements queue.Queue. Messages go in batches; after an error some may have been sent.
func (q *Queue) Send(ctx context.Context, messages ...queue.Message) error {
	for i := range messages {
		if n := len(messages[i].Body); n == 0 || n > queue.MaxBody {
			return fmt.Errorf("queue: a message of %d bytes; 1 to %d are allowed", n, queue.MaxBody)
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

// delay is how many seconds SQS is to keep a message back.
func (q *Queue) delay(due time.Time) int32 {
	if due.IsZero() {
		return 0
	}
	return seconds(min(due.Sub(q.o.Now()), maxDelay))
}

// group is the message group to send with.
func (q *Queue) group(group string) *string {
	if !q.o.FairQueues || group == "" {
		return nil
	}
	return &group
}

// seconds rounds up, so that nothing comes early.
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

// Defer implements queue.Queue. A receipt whose lease ran out is honoured: the message is then there twice.
func (q *Queue) Defer(ctx context.Context, r queue.Received, due time.Time) error {
	r.Due = due
	if err := q.Send(ctx, r.Message); err != nil {
		return err
	}
	return q.deleteAll(ctx, q.o.URL, []string{r.Receipt})
}
