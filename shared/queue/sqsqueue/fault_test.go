package sqsqueue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"orgops/shared/awstest"
	"orgops/shared/queue"
	"orgops/shared/queue/sqsqueue"
)

// refusal is an answer that says of one entry of a batch that it was refused.
func refusal(operation string, times int, senderFault bool, code string) awstest.Step {
	return awstest.Step{Operation: operation, Times: times, Status: 200, Body: fmt.Sprintf(
		`{"Successful":[],"Failed":[{"Id":"0","SenderFault":%t,"Code":%q,"Message":"it is so"}]}`, senderFault, code)}
}

func busy(operation string, times int) awstest.Step {
	return awstest.Step{Operation: operation, Times: times, Status: 503, Body: `{"__type":"com.amazonaws.sqs#ServiceUnavailable","message":"it is so"}`}
}

// TestQueue_Faults: what SQS refuses for the time being is sent again, and that alone.
func TestQueue_Faults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []awstest.Step
		asks  int // 0: not stated
		ok    bool
		want  error
	}{
		{"one of two is refused twice", []awstest.Step{refusal("SendMessageBatch", 2, false, "InternalError")}, 3, true, nil},
		{"one is refused for good", []awstest.Step{refusal("SendMessageBatch", 99, false, "InternalError")}, 0, false, queue.ErrUnavailable},
		{"one is not acceptable", []awstest.Step{refusal("SendMessageBatch", 1, true, "InvalidMessageContents")}, 1, false, nil},
		{"the service is busy once", []awstest.Step{busy("SendMessageBatch", 1)}, 2, true, nil},
		{"the service is busy", []awstest.Step{busy("SendMessageBatch", 99)}, 0, false, queue.ErrUnavailable},
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
				t.Errorf("sent again %+v, want the refused one alone", asked[1])
			}
		})
	}
}

// TestQueue_AckFaults: a receipt that is no longer good is no error; a fault of the service is made up for.
func TestQueue_AckFaults(t *testing.T) {
	t.Parallel()
	proxy := elastic.Through(t)
	q := openAt(t, proxy.Access(), sqsqueue.Options{})
	r := queue.Received{Receipt: "never given"}
	if err := q.Ack(t.Context(), r); err != nil {
		t.Errorf("a receipt that is none: %v", err)
	}
	proxy.Play(refusal("DeleteMessageBatch", 1, true, "ReceiptHandleIsInvalid"))
	if err := q.Ack(t.Context(), r); err != nil {
		t.Errorf("a receipt that has run out: %v", err)
	}
	proxy.Play(refusal("DeleteMessageBatch", 1, false, "InternalError"))
	if err := q.Send(t.Context(), queue.Message{Body: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if err := q.Ack(t.Context(), receive(t, q, 1)...); err != nil {
		t.Errorf("after one fault: %v", err)
	}
}

// TestQueue_BuryTwice: when the deletion fails the letter is there all the same, and so is the message.
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
		t.Fatalf("letters %+v, %v; want the one", letters, err)
	}
	if got := letters[0].Reason; got != strings.Repeat("ä", 512) {
		t.Errorf("the reason has %d bytes", len(got))
	}
}
