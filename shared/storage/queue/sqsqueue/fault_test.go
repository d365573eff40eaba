package sqsqueue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// refusal answers that SQS refused one entry of a batch.
func refusal(operation string, times int, senderFault bool, code string) awstest.Step {
	return awstest.Step{Operation: operation, Times: times, Status: 200, Body: fmt.Sprintf(
		`{"Successful":[],"Failed":[{"Id":"0","SenderFault":%t,"Code":%q,"Message":"refused by the test"}]}`, senderFault, code)}
}

func busy(operation string, times int) awstest.Step {
	return awstest.Step{Operation: operation, Times: times, Status: 503, Body: `{"__type":"com.amazonaws.sqs#ServiceUnavailable","message":"busy"}`}
}

// outcome tells what became of a message by the error of Send.
func outcome(err error) string {
	switch {
	case err == nil:
		return "sent"
	case errors.Is(err, queue.ErrUnavailable):
		return "unavailable"
	}
	return "refused"
}

// TestQueue_Faults checks that temporarily refused entries, and only those, are retried.
func TestQueue_Faults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []awstest.Step
		asks  int // 0: not checked
		want  string
	}{
		{"one of two refused twice", []awstest.Step{refusal("SendMessageBatch", 2, false, "InternalError")}, 3, "sent"},
		{"one refused every time", []awstest.Step{refusal("SendMessageBatch", 99, false, "InternalError")}, 0, "unavailable"},
		{"one invalid", []awstest.Step{refusal("SendMessageBatch", 1, true, "InvalidMessageContents")}, 1, "refused"},
		{"service busy once", []awstest.Step{busy("SendMessageBatch", 1)}, 2, "sent"},
		{"service busy", []awstest.Step{busy("SendMessageBatch", 99)}, 0, "unavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxy := elastic.Through(t)
			q := openAt(t, proxy.Access(), sqsqueue.Options{})
			proxy.Play(tt.steps...)
			err := q.Send(t.Context(), queue.Message{Body: []byte("a")}, queue.Message{Body: []byte("b")})
			if got := outcome(err); got != tt.want {
				t.Fatalf("message %s, want %s: %v", got, tt.want, err)
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
		t.Errorf("unknown receipt: %v, want no error", err)
	}
	proxy.Play(refusal("DeleteMessageBatch", 1, true, "ReceiptHandleIsInvalid"))
	if err := q.Ack(t.Context(), r); err != nil {
		t.Errorf("expired receipt: %v, want no error", err)
	}
	proxy.Play(refusal("DeleteMessageBatch", 1, false, "InternalError"))
	if err := q.Send(t.Context(), queue.Message{Body: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if err := q.Ack(t.Context(), receive(t, q, 1)...); err != nil {
		t.Errorf("after one fault: %v, want no error", err)
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
	errtest.Must(t, err)
	want := []queue.DeadLetter{{Message: queue.Message{Body: []byte("a"), Group: "acme"}, Reason: strings.Repeat("ä", 512)}}
	if diff := cmp.Diff(want, letters, cmpopts.IgnoreFields(queue.DeadLetter{}, "Message.Due", "BuriedAt")); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

// TestQueue_Redrive_Later checks that a page of letters that were buried after Redrive had started does not hide the earlier ones.
func TestQueue_Redrive_Later(t *testing.T) {
	t.Parallel()
	proxy := elastic.Through(t)
	q := openAt(t, proxy.Access(), sqsqueue.Options{})
	errtest.Must(t, q.Send(t.Context(), queue.Message{Body: []byte("a")}))
	errtest.Must(t, q.Bury(t.Context(), receive(t, q, 1)[0], "refused"))
	proxy.Play(awstest.Step{Operation: "ReceiveMessage", Times: 1, Status: 200, Body: fmt.Sprintf(
		`{"Messages":[{"MessageId":"later","ReceiptHandle":"later","Body":"b","MD5OfBody":"92eb5ffee6ae2fec3ad71c777531578f","Attributes":{"SentTimestamp":"%d"}}]}`,
		time.Now().Add(time.Hour).UnixMilli())})
	n, err := q.Redrive(t.Context())
	errtest.Must(t, err)
	if n != 1 {
		t.Errorf("%d letters moved, want the one that was buried before", n)
	}
	if got := receive(t, q, 1)[0].Body; string(got) != "a" {
		t.Errorf("the queue gives %q, want a", got)
	}
}
