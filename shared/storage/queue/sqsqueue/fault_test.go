package sqsqueue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/testkit/awstest"
)

// refusal answers that SQS refused one entry of a batch.
func refusal(operation string, times int, senderFault bool, code string) awstest.Step {
	return awstest.Step{Operation: operation, Times: times, Status: 200, Body: fmt.Sprintf(
		`{"Successful":[],"Failed":[{"Id":"0","SenderFault":%t,"Code":%q,"Message":"refused by the test"}]}`, senderFault, code)}
}

func busy(operation string, times int) awstest.Step {
	return awstest.Step{Operation: operation, Times: times, Status: 503, Body: `{"__type":"com.amazonaws.sqs#ServiceUnavailable","message":"busy"}`}
}

// TestQueue_Faults checks that temporarily refused entries, and only those, are retried.
func TestQueue_Faults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []awstest.Step
		asks  int // 0: not checked
		ok    bool
		want  error
	}{
		{"one of two refused twice", []awstest.Step{refusal("SendMessageBatch", 2, false, "InternalError")}, 3, true, nil},
		{"one refused every time", []awstest.Step{refusal("SendMessageBatch", 99, false, "InternalError")}, 0, false, queue.ErrUnavailable},
		{"one invalid", []awstest.Step{refusal("SendMessageBatch", 1, true, "InvalidMessageContents")}, 1, false, nil},
		{"service busy once", []awstest.Step{busy("SendMessageBatch", 1)}, 2, true, nil},
		{"service busy", []awstest.Step{busy("SendMessageBatch", 99)}, 0, false, queue.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxy := elastic.Through(t)
			q := openAt(t, proxy.Access(), sqsqueue.Options{})
			proxy.Play(tt.steps...)
			err := q.Send(t.Context(), queue.Message{Body: []byte("a")}, queue.Message{Body: []byte("b")})
			if (err == nil) != tt.ok || errors.Is(err, queue.ErrUnavailable) != (tt.want != nil) {
				t.Fatalf("send: %v, want %v", err, tt.want)
			}
			asked := sends(t, proxy)
			if tt.asks > 0 && len(asked) != tt.asks {
				t.Errorf("%d requests, want %d", len(asked), tt.asks)
			}
			if strings.HasPrefix(tt.name, "one of two") && len(asked[1].Entries) != 1 {
				t.Errorf("retried %+v, want only the refused entry", asked[1])
			}
		})
	}
}

// TestQueue_AckFaults checks that a stale receipt is no error and that a fault of the service is retried.
func TestQueue_AckFaults(t *testing.T) {
	t.Parallel()
	proxy := elastic.Through(t)
	q := openAt(t, proxy.Access(), sqsqueue.Options{})
	r := queue.Received{Receipt: "never given"}
	if err := q.Ack(t.Context(), r); err != nil {
		t.Errorf("unknown receipt: %v", err)
	}
	proxy.Play(refusal("DeleteMessageBatch", 1, true, "ReceiptHandleIsInvalid"))
	if err := q.Ack(t.Context(), r); err != nil {
		t.Errorf("expired receipt: %v", err)
	}
	proxy.Play(refusal("DeleteMessageBatch", 1, false, "InternalError"))
	if err := q.Send(t.Context(), queue.Message{Body: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if err := q.Ack(t.Context(), receive(t, q, 1)...); err != nil {
		t.Errorf("after one fault: %v", err)
	}
}

// TestQueue_BuryTwice checks that when the deletion fails, both the letter and the message exist.
func TestQueue_BuryTwice(t *testing.T) {
	t.Parallel()
	proxy := elastic.Through(t)
	q := openAt(t, proxy.Access(), sqsqueue.Options{})
	if err := q.Send(t.Context(), queue.Message{Body: []byte("a"), Group: "acme"}); err != nil {
		t.Fatal(err)
	}
	r := receive(t, q, 1)[0]
	proxy.Play(refusal("DeleteMessageBatch", 99, false, "InternalError"))
	reason := strings.Repeat("ä", 1000) + "\x00"
	if err := q.Bury(t.Context(), r, reason); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("bury: %v, want ErrUnavailable", err)
	}
	letters, err := q.DeadLetters(t.Context(), 10)
	if err != nil || len(letters) != 1 || string(letters[0].Body) != "a" || letters[0].Group != "acme" {
		t.Fatalf("letters %+v, %v; want exactly the buried message", letters, err)
	}
	if got := letters[0].Reason; got != strings.Repeat("ä", 512) {
		t.Errorf("the reason has %d bytes", len(got))
	}
}
