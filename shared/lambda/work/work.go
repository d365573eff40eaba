// Package work has messages of a queue, as Lambda delivers them, settled by a worker.
package work

import (
	"context"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/queue"
	"orgops/shared/queue/sqsqueue"
)

// Event is what Lambda sends.
type Event = events.SQSEvent

// Answer is what it takes.
type Answer = events.SQSEventResponse

// Each has w settle all messages of an event at the same time; an event has 10 at most. A message that came early, because
// SQS delays no longer, goes on its way until it is due. One that is not settled comes again when its lease is over.
func Each(w queue.Worker, now func() time.Time) func(context.Context, Event) (Answer, error) {
	return func(ctx context.Context, e Event) (Answer, error) {
		settled := make([]bool, len(e.Records))
		var working sync.WaitGroup
		for i, r := range e.Records {
			working.Go(func() { settled[i] = one(ctx, w, now, r) })
		}
		working.Wait()
		answer := Answer{BatchItemFailures: []events.SQSBatchItemFailure{}}
		for i, r := range e.Records {
			if !settled[i] {
				answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
			}
		}
		return answer, nil
	}
}

// one reports whether Lambda may delete the message: whatever had to become of it has been stored. It recovers panics,
// because it runs beside the invocation, where nobody else would.
func one(ctx context.Context, w queue.Worker, now func() time.Time, r events.SQSMessage) (settled bool) {
	defer func() {
		if v := recover(); v != nil {
			w.Logger.ErrorContext(ctx, "panic", "message", r.MessageId, "panic", v, "stack", string(debug.Stack()))
			settled = false
		}
	}()
	q := &watched{Queue: w.Queue}
	w.Queue = q
	if m := received(r); m.Due.After(now()) {
		w.Logger.DebugContext(ctx, "message put off", "message", r.MessageId, "due", m.Due)
		_ = q.Defer(ctx, m, m.Due) // the failure shows in settled
	} else {
		w.Settle(ctx, m)
	}
	return q.settled
}

// received opens a message.
func received(r events.SQSMessage) queue.Received {
	e := sqsqueue.Envelope{Body: r.Body, Receipt: r.ReceiptHandle, Texts: map[string]string{}, Binaries: map[string][]byte{}}
	e.Receives, _ = strconv.Atoi(r.Attributes["ApproximateReceiveCount"])
	for name, a := range r.MessageAttributes {
		if a.StringValue != nil {
			e.Texts[name] = *a.StringValue
		} else {
			e.Binaries[name] = a.BinaryValue
		}
	}
	return e.Received()
}

// watched is the queue of one message, and whether it was settled.
type watched struct {
	queue.Queue
	settled bool
}

// Ack implements queue.Queue: Lambda deletes what is not reported.
func (q *watched) Ack(context.Context, ...queue.Received) error {
	q.settled = true
	return nil
}

// Defer implements queue.Queue.
func (q *watched) Defer(ctx context.Context, r queue.Received, due time.Time) error {
	err := q.Queue.Defer(ctx, r, due)
	q.settled = err == nil
	return err
}

// Bury implements queue.Queue.
func (q *watched) Bury(ctx context.Context, r queue.Received, reason string) error {
	err := q.Queue.Bury(ctx, r, reason)
	q.settled = err == nil
	return err
}
