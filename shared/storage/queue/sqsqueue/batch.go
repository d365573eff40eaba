package sqsqueue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/base/wait"
	"orgops/shared/storage/queue"
)

const (
	maxEntries    = 10
	maxBatchBytes = 256 << 10 // accepted in one request by every version of SQS
	maxPasses     = 5         // over a batch whose entries SQS refuses temporarily
	passPause     = 50 * time.Millisecond
)

// sendAll sends envelopes in as few requests as their sizes allow.
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

// sendBatch sends entries. It sends an entry again if SQS refuses it temporarily.
func (q *Queue) sendBatch(ctx context.Context, url string, entries []types.SendMessageBatchRequestEntry) error {
	return retryRefused(ctx, entries, func(ctx context.Context, rest []types.SendMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
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
		err := retryRefused(ctx, entries, func(ctx context.Context, rest []types.DeleteMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
			out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: rest})
			if err != nil {
				return nil, err
			}
			return withoutStale(out.Failed), nil
		}, func(e types.DeleteMessageBatchRequestEntry) string { return *e.Id })
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutStale drops the refusals of stale receipts: the message was deleted, or another receiver has leased it.
func withoutStale(failed []types.BatchResultErrorEntry) []types.BatchResultErrorEntry {
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

// retryRefused makes a batch call. It repeats the call for the entries that SQS refused through a fault of SQS, up to
// maxPasses calls in all.
func retryRefused[E any](ctx context.Context, entries []E, call func(context.Context, []E) ([]types.BatchResultErrorEntry, error), id func(E) string) error {
	rest := entries
	for pass := 1; len(rest) > 0; pass++ {
		try, cancel := context.WithTimeout(ctx, callTimeout)
		failed, err := call(try, rest)
		cancel()
		if err != nil {
			return contractError(ctx, err)
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
			return fmt.Errorf("%w: SQS refused %d of %d messages: %s", queue.ErrUnavailable, len(rest), len(entries), aws.ToString(failed[0].Code))
		}
	}
	return nil
}
