package sqsqueue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/queue"
	"orgops/shared/wait"
)

const (
	maxEntries    = 10
	maxBatchBytes = 256 << 10 // what every version of SQS takes in one request
	maxPasses     = 5         // over a batch, as long as some of it is refused for the time being
	passPause     = 50 * time.Millisecond
)

// sendAll sends envelopes, as many at a time as fit.
func (q *Queue) sendAll(ctx context.Context, url string, envelopes []envelope) error {
	var entries []types.SendMessageBatchRequestEntry
	size := 0
	for i := range envelopes {
		entry, n := envelopes[i].entry(strconv.Itoa(i))
		if len(entries) == maxEntries || len(entries) > 0 && size+n > maxBatchBytes {
			if err := q.sendBatch(ctx, url, entries); err != nil {
				return err
			}
			entries, size = entries[:0], 0
		}
		entries, size = append(entries, entry), size+n
	}
	return q.sendBatch(ctx, url, entries)
}

// sendBatch sends entries, those that were refused again, until all are sent.
func (q *Queue) sendBatch(ctx context.Context, url string, entries []types.SendMessageBatchRequestEntry) error {
	return passes(ctx, entries, func(ctx context.Context, rest []types.SendMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: rest})
		if err != nil {
			return nil, err
		}
		return out.Failed, nil
	}, func(e types.SendMessageBatchRequestEntry) string { return *e.Id })
}

// deleteAll deletes messages by their receipts.
func (q *Queue) deleteAll(ctx context.Context, url string, receipts []string) error {
	if err := ctx.Err(); err != nil && len(receipts) > 0 {
		return err
	}
	for start := 0; start < len(receipts); start += maxEntries {
		var entries []types.DeleteMessageBatchRequestEntry
		for i := start; i < min(start+maxEntries, len(receipts)); i++ {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &receipts[i]})
		}
		err := passes(ctx, entries, func(ctx context.Context, rest []types.DeleteMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
			out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: rest})
			if err != nil {
				return nil, err
			}
			return known(out.Failed), nil
		}, func(e types.DeleteMessageBatchRequestEntry) string { return *e.Id })
		if err != nil {
			return err
		}
	}
	return nil
}

// known leaves out the refusals of receipts that are no longer good: such a message was deleted, or is someone else's.
func known(failed []types.BatchResultErrorEntry) []types.BatchResultErrorEntry {
	var out []types.BatchResultErrorEntry
	for _, f := range failed {
		switch aws.ToString(f.Code) {
		case "ReceiptHandleIsInvalid", "InvalidParameterValue", "AWS.SimpleQueueService.MessageNotInflight":
		default:
			out = append(out, f)
		}
	}
	return out
}

// passes makes a batch call again for those of its entries that SQS refused through a fault of its own, a few times.
func passes[E any](ctx context.Context, entries []E, call func(context.Context, []E) ([]types.BatchResultErrorEntry, error), id func(E) string) error {
	rest := entries
	for pass := 1; len(rest) > 0; pass++ {
		try, cancel := context.WithTimeout(ctx, callTimeout)
		failed, err := call(try, rest)
		cancel()
		if err != nil {
			return outside(ctx, err)
		}
		byID := make(map[string]types.BatchResultErrorEntry)
		for _, f := range failed {
			if f.SenderFault {
				return fmt.Errorf("queue: refused: %s: %s", aws.ToString(f.Code), aws.ToString(f.Message))
			}
			byID[aws.ToString(f.Id)] = f
		}
		var again []E
		for _, e := range rest {
			if _, refused := byID[id(e)]; refused {
				again = append(again, e)
			}
		}
		if rest = again; len(rest) == 0 {
			return nil
		}
		if pass == maxPasses || !wait.For(ctx, passPause<<pass) {
			return fmt.Errorf("%w: %d of %d messages were refused: %s", queue.ErrUnavailable, len(rest), len(entries), aws.ToString(failed[0].Code))
		}
	}
	return nil
}
