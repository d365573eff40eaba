package sqsqueue_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/testkit/awstest"
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

func receive(t *testing.T, q *sqsqueue.Queue, n int) []queue.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all []queue.Received
	for len(all) < n {
		got, err := q.Receive(ctx, n-len(all), time.Minute)
		if err != nil || len(got) == 0 {
			t.Fatalf("received %d of %d: %v", len(all), n, err)
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
	if got := sends(t, proxy); len(got) != 1 || got[0].Entries[0].DelaySeconds != 900 {
		t.Fatalf("sent %+v, want one message delayed by 900 s", got)
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
		t.Errorf("received %v early", left)
	}
	if string(got.Body) != "soon" || got.Group != "acme" || got.Receives != 1 || !got.Due.Equal(due) {
		t.Errorf("got %+v", got)
	}
	all := sends(t, proxy)
	if last := all[len(all)-1].Entries; len(all) < 3 || last[0].DelaySeconds < 1 || last[0].DelaySeconds > 2 {
		t.Errorf("sent %+v, want it sent on with the remaining delay", all)
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
		want := map[bool]string{true: "acme"}[fair]
		if got := sends(t, proxy)[0].Entries; got[0].Group != want || got[1].Group != "" {
			t.Errorf("fair %v: sent %+v, want group %q, and no group for a message without one", fair, got, want)
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
			t.Errorf("%d messages in a request", len(s.Entries))
		}
	}
	if total != len(messages) {
		t.Errorf("%d messages were sent, want %d", total, len(messages))
	}
	if err := q.Ack(t.Context(), receive(t, q, len(messages))...); err != nil {
		t.Error(err)
	}
}
