// Package work settles the messages of a queue, as Lambda delivers them, with a queue.Worker.
package work

import (
	"context"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/base/memo"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
)

// Event holds the messages that Lambda delivers.
type Event = events.SQSEvent

// Answer lists the messages that Lambda redelivers.
type Answer = events.SQSEventResponse

// Each settles all messages of an event concurrently with w; an event has at most 10, which share a memo. A message may arrive
// before it is due, by another clock; Each defers it again. SQS redelivers an unsettled message when its lease ends.
//
// AWS does not document which message's chain of invocations the sends of a batch continue. So each message counts the hops of
// the batch's longest chain.
func Each(w queue.Worker, now func() time.Time) func(context.Context, Event) (Answer, error) {
	return func(ctx context.Context, e Event) (Answer, error) {
		ctx = memo.With(ctx)
		all := messages(e)
		settled := make([]bool, len(e.Records))
		var working sync.WaitGroup
		for i, r := range e.Records {
			working.Go(func() { settled[i] = one(ctx, w, now, r.MessageId, all[i]) })
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

// messages converts the messages of an event.
func messages(e Event) []queue.Received {
	all, hops := make([]queue.Received, len(e.Records)), 0
	for i, r := range e.Records {
		all[i] = received(r)
		hops = max(hops, all[i].Hops)
	}
	for i := range all {
		all[i].Hops = hops
	}
	return all
}

// one reports whether Lambda may delete the message, because its result is stored. It recovers panics, because Guard does
// not cover this goroutine.
func one(ctx context.Context, w queue.Worker, now func() time.Time, id string, m queue.Received) (settled bool) {
	defer func() {
		if v := recover(); v != nil {
			w.Logger.ErrorContext(ctx, "handler panicked", "message", id, "panic", v, "stack", string(debug.Stack()))
			settled = false
		}
	}()
	q := &watched{Queue: w.Queue}
	w.Queue = q
	if m.Due.After(now()) {
		w.Logger.DebugContext(ctx, "message deferred", "message", id, "due", m.Due)
		_ = q.Defer(ctx, m, m.Due) // q.settled stays false after an error
	} else {
		w.Settle(ctx, m)
	}
	return q.settled
}

// received converts a message.
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

// watched wraps the queue of one message and records whether the message was settled.
type watched struct {
	queue.Queue
	settled bool
}

// Ack implements queue.Queue. Lambda deletes the messages that the answer does not list.
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
