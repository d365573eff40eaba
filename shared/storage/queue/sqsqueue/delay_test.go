package sqsqueue_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// sent decodes a SendMessageBatch request.
type sent struct {
	Entries []struct {
		MessageBody  string
		DelaySeconds int
		Group        string `json:"MessageGroupId"`
	}
}

func sends(t *testing.T, p *awstest.Proxy) []sent {
	t.Helper()
	var out []sent
	for _, r := range p.Asked() {
		if r.Operation != "SendMessageBatch" {
			continue
		}
		var s sent
		if err := json.Unmarshal([]byte(r.Body), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// delays returns the delay of every message that was sent.
func delays(t *testing.T, p *awstest.Proxy) []int {
	t.Helper()
	var out []int
	for _, s := range sends(t, p) {
		for _, e := range s.Entries {
			out = append(out, e.DelaySeconds)
		}
	}
	return out
}

func receive(t *testing.T, q *sqsqueue.Queue, n int) []queue.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all []queue.Received
	for len(all) < n {
		got, err := q.Receive(ctx, n-len(all), time.Minute)
		errtest.Must(t, err)
		if len(got) == 0 {
			t.Fatalf("received %d messages, want %d", len(all), n)
		}
		all = append(all, got...)
	}
	return all
}

// TestQueue_Hops checks that a message due in a day is delayed by 15 minutes, and that its receiver sends it on until it is
// due. Adjusted clocks stand in for the time between.
func TestQueue_Hops(t *testing.T) {
	t.Parallel()
	proxy := elastic.Through(t)
	due := time.Now().Truncate(time.Millisecond)
	now := func() time.Time { return due.Add(-24 * time.Hour) }
	clock := sqsqueue.Options{Now: func() time.Time { return now() }}
	if err := openAt(t, proxy.Access(), clock).Send(t.Context(), queue.Message{Body: []byte("tomorrow"), Group: "acme", Due: due}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{900}, delays(t, proxy)); diff != "" {
		t.Fatalf("delays of the first send (-want +got):\n%s", diff)
	}

	// The next is sent by a clock at which it is due, and so arrives two seconds before it is due.
	q := openAt(t, proxy.Access(), clock)
	now = func() time.Time { return due }
	if err := q.Send(t.Context(), queue.Message{Body: []byte("soon"), Group: "acme", Due: due}); err != nil {
		t.Fatal(err)
	}
	arrival := sync.OnceValue(time.Now)
	now = func() time.Time { return due.Add(time.Since(arrival()) - 2*time.Second) }
	got := receive(t, q, 1)[0]
	if left := due.Sub(now()); left > 0 {
		t.Errorf("received %v early, want when due", left)
	}
	want := queue.Received{Message: queue.Message{Body: []byte("soon"), Group: "acme", Due: due}, Receives: 1}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(queue.Received{}, "Receipt")); diff != "" {
		t.Errorf("received message (-want +got):\n%s", diff)
	}
	all := delays(t, proxy)
	if n := len(all); n < 3 {
		t.Fatalf("%d messages sent, want at least 3: the second is sent on", n)
	}
	if last := all[len(all)-1]; last < 1 || last > 2 {
		t.Errorf("sent on with a delay of %d s, want the remaining 1 or 2 s", last)
	}
}

func TestQueue_FairQueues(t *testing.T) {
	t.Parallel()
	for _, fair := range []bool{false, true} {
		proxy := elastic.Through(t)
		q := openAt(t, proxy.Access(), sqsqueue.Options{FairQueues: fair})
		proxy.Play(awstest.Step{Operation: "SendMessageBatch", Status: 200, Body: `{"Successful":[],"Failed":[]}`})
		err := q.Send(t.Context(), queue.Message{Body: []byte("a"), Group: "acme"}, queue.Message{Body: []byte("b")})
		if err != nil {
			t.Fatal(err)
		}
		var groups []string
		for _, e := range sends(t, proxy)[0].Entries {
			groups = append(groups, e.Group)
		}
		want := []string{map[bool]string{true: "acme"}[fair], ""}
		if diff := cmp.Diff(want, groups); diff != "" {
			t.Errorf("groups with fair %t (-want +got):\n%s", fair, diff)
		}
	}
}

// TestQueue_Batches checks that a request holds at most ten messages and 256 KB.
func TestQueue_Batches(t *testing.T) {
	t.Parallel()
	proxy := elastic.Through(t)
	q := openAt(t, proxy.Access(), sqsqueue.Options{})
	var messages []queue.Message
	for range 12 {
		messages = append(messages, queue.Message{Body: []byte("small")})
	}
	for _, kind := range []string{"x", "\xff"} {
		for range 3 {
			messages = append(messages, queue.Message{Body: []byte(strings.Repeat(kind, 120<<10))})
		}
	}
	if err := q.Send(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, s := range sends(t, proxy) {
		total += len(s.Entries)
		if len(s.Entries) > 10 {
			t.Errorf("%d messages in a request, want at most 10", len(s.Entries))
		}
	}
	if total != len(messages) {
		t.Errorf("%d messages were sent, want %d", total, len(messages))
	}
	if err := q.Ack(t.Context(), receive(t, q, len(messages))...); err != nil {
		t.Error(err)
	}
}
