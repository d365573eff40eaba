package sqsqueue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/storage/queue"
)

const (
	deadLease = time.Minute // while dead letters are listed or moved
	deadWait  = time.Second // long polling asks all of SQS's servers, short polling only some
	maxListed = 1000        // DeadLetters receives at most this many to find the oldest
)

// Bury implements queue.Queue. It accepts a receipt whose lease has expired. It keeps the first KiB of the reason.
func (q *Queue) Bury(ctx context.Context, r queue.Received, reason string) error {
	letter := envelope{message: r.Message, group: q.group(r.Group), reason: reasonText(reason)}
	if err := q.sendAll(ctx, q.o.Dead, []envelope{letter}); err != nil {
		return err
	}
	return q.deleteAll(ctx, q.o.URL, []string{r.Receipt})
}

// DeadLetters implements queue.Queue. SQS keeps no order, and it lists a message only to a receiver. DeadLetters therefore
// leases up to a thousand letters, selects the oldest and releases all. The result lacks letters that another caller is
// listing at the same time.
func (q *Queue) DeadLetters(ctx context.Context, most int) ([]queue.DeadLetter, error) {
	var taken []types.Message
	var err error
	for len(taken) < maxListed {
		var page []types.Message
		if page, err = q.receive(ctx, q.o.Dead, maxEntries, deadWait, deadLease); err != nil || len(page) == 0 {
			break
		}
		taken = append(taken, page...)
	}
	q.giveBack(ctx, taken)
	if err != nil {
		return nil, contractError(ctx, err)
	}
	slices.SortStableFunc(taken, func(a, b types.Message) int { return sentAt(&a).Compare(sentAt(&b)) })
	var letters []queue.DeadLetter
	for i := range taken[:min(len(taken), max(most, 0))] {
		e := envelopeOf(&taken[i])
		letters = append(letters, queue.DeadLetter{Message: e.Received().Message, Reason: e.Texts[attrReason], BuriedAt: sentAt(&taken[i])})
	}
	return letters, nil
}

// giveBack ends the leases on dead letters. If SQS refuses, the lease expires later.
func (q *Queue) giveBack(ctx context.Context, taken []types.Message) {
	ctx = context.WithoutCancel(ctx)
	for page := range slices.Chunk(taken, maxEntries) {
		var entries []types.ChangeMessageVisibilityBatchRequestEntry
		for i := range page {
			entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: page[i].ReceiptHandle, VisibilityTimeout: 0,
			})
		}
		try, cancel := context.WithTimeout(ctx, callTimeout)
		_, _ = q.client.ChangeMessageVisibilityBatch(try, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.o.Dead, Entries: entries})
		cancel()
	}
}

// Redrive implements queue.Queue. It leaves letters that were buried after it started. After an error, the letters that it
// has moved stay moved.
func (q *Queue) Redrive(ctx context.Context) (n int, err error) {
	start := q.o.Now()
	var later []types.Message
	defer func() { q.giveBack(ctx, later) }()
	for {
		page, err := q.receive(ctx, q.o.Dead, maxEntries, deadWait, deadLease)
		if err != nil {
			return n, contractError(ctx, err)
		}
		if len(page) == 0 {
			return n, nil
		}
		var messages []queue.Message
		var receipts []string
		for i := range page {
			if sentAt(&page[i]).After(start) {
				later = append(later, page[i])
				continue
			}
			r := envelopeOf(&page[i]).Received()
			r.Due = time.Time{}
			messages, receipts = append(messages, r.Message), append(receipts, r.Receipt)
		}
		if len(messages) == 0 {
			if len(later) < maxListed {
				continue // SQS keeps no order: earlier letters may follow
			}
			return n, nil
		}
		if err := q.Send(ctx, messages...); err != nil {
			return n, fmt.Errorf("resend dead letters: %w", err)
		}
		n += len(messages)
		if err := q.deleteAll(ctx, q.o.Dead, receipts); err != nil {
			return n, fmt.Errorf("delete resent dead letters: %w", err)
		}
	}
}
