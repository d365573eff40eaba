package work_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/run/lambda/work"
	"orgops/shared/storage/queue"
	"orgops/shared/testkit/errtest"
)

// fake implements a queue that accepts every request, unless told to refuse.
type fake struct {
	queue.Queue
	refuse bool
	asked  map[string]string // the last request, by body
}

func (q *fake) Defer(_ context.Context, r queue.Received, due time.Time) error {
	return q.take(r, "due "+strconv.FormatInt(due.Unix(), 10))
}

func (q *fake) Bury(_ context.Context, r queue.Received, reason string) error {
	return q.take(r, reason)
}

func (q *fake) take(r queue.Received, what string) error {
	if q.refuse {
		return errors.New("the queue is unavailable")
	}
	q.asked[string(r.Body)] = what
	return nil
}

func message(body string, attributes map[string]events.SQSMessageAttribute) events.SQSMessage {
	return events.SQSMessage{
		MessageId: body, Body: body, ReceiptHandle: "r", MessageAttributes: attributes,
		Attributes: map[string]string{"ApproximateReceiveCount": "1"},
	}
}

// TestEach_OwnCount buries a message that keeps failing by its receive count, long before SQS would.
func TestEach_OwnCount(t *testing.T) {
	t.Parallel()
	for receives, buried := range map[string]bool{"19": false, "20": true} {
		q := &fake{asked: map[string]string{}}
		handle := func(context.Context, queue.Received) (time.Time, error) { return time.Time{}, errors.New("not now") }
		m := message("a", nil)
		m.Attributes["ApproximateReceiveCount"] = receives
		answer, err := work.Each(queue.Worker{Queue: q, Handle: handle, Logger: slog.New(slog.DiscardHandler)}, time.Now)(
			t.Context(), work.Event{Records: []events.SQSMessage{m}})
		errtest.Must(t, err)
		if redelivered := len(answer.BatchItemFailures) > 0; redelivered == buried {
			t.Errorf("received %s times: redelivered = %t, want %t", receives, redelivered, !buried)
		}
		if got := q.asked["a"] == "not now"; got != buried {
			t.Errorf("received %s times: buried = %t, want %t: asked %q", receives, got, buried, q.asked)
		}
	}
}

// TestEach has Lambda delete the settled messages and redeliver the others.
func TestEach(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_771_840_800, 0)
	early := strconv.FormatInt(now.Add(time.Hour).UnixMilli(), 10)
	tests := []struct {
		body   string
		due    *string
		refuse bool
		asked  string // the request to the queue
		failed bool
	}{
		{body: "done"},
		{body: "later", asked: "due 1771840860"},
		{body: "later, and the queue is unavailable", refuse: true, failed: true},
		{body: "nonsense", asked: "not a message of this queue"},
		{body: "failed", failed: true},
		{body: "panic", failed: true},
		{body: "early", due: &early, asked: "due 1771844400"},
		{body: "early, and the queue is unavailable", due: &early, refuse: true, failed: true},
	}
	handle := func(_ context.Context, r queue.Received) (time.Time, error) {
		body := r.Body
		switch string(body) {
		case "done":
			return time.Time{}, nil
		case "nonsense":
			return time.Time{}, queue.ErrPoison
		case "panic":
			panic("boom")
		case "failed":
			return time.Time{}, errors.New("not now")
		case "early", "early, and the queue is unavailable":
			t.Errorf("%q was handled, want it deferred", body)
		}
		return now.Add(time.Minute), nil
	}
	for _, tt := range tests {
		t.Run(tt.body, func(t *testing.T) {
			t.Parallel()
			q := &fake{refuse: tt.refuse, asked: map[string]string{}}
			each := work.Each(queue.Worker{Queue: q, Handle: handle, Logger: slog.New(slog.DiscardHandler)}, func() time.Time { return now })
			var attributes map[string]events.SQSMessageAttribute
			if tt.due != nil {
				attributes = map[string]events.SQSMessageAttribute{"due": {DataType: "Number", StringValue: tt.due}}
			}
			answer, err := each(t.Context(), work.Event{Records: []events.SQSMessage{message(tt.body, attributes), message("done", nil)}})
			if err != nil {
				t.Fatal(err)
			}
			want := []events.SQSBatchItemFailure{}
			if tt.failed {
				want = append(want, events.SQSBatchItemFailure{ItemIdentifier: tt.body})
			}
			if diff := cmp.Diff(want, answer.BatchItemFailures); diff != "" {
				t.Errorf("failures differ (-want +got):\n%s", diff)
			}
			if q.asked[tt.body] != tt.asked {
				t.Errorf("the queue received the request %q, want %q", q.asked[tt.body], tt.asked)
			}
		})
	}
}
