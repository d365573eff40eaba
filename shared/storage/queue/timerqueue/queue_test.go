package timerqueue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// fake records what SQS would get.
type fake struct {
	queue.Queue
	sent  []queue.Message
	acked []string
}

func (f *fake) Send(_ context.Context, messages ...queue.Message) error {
	f.sent = append(f.sent, messages...)
	return nil
}

func (f *fake) Ack(_ context.Context, received ...queue.Received) error {
	for _, r := range received {
		f.acked = append(f.acked, r.Receipt)
	}
	return nil
}

func (f *fake) Defer(_ context.Context, r queue.Received, due time.Time) error {
	r.Due = due
	f.sent = append(f.sent, r.Message)
	return nil
}

// now is the clock of the queues. The store has the real clock, by which a timer of another month would have expired.
var now = time.Now().UTC().Truncate(time.Second)

// wrap returns a queue over a store of its own.
func wrap(t *testing.T) (timerqueue.Queue, *fake) {
	inner := &fake{}
	return timerqueue.Queue{Queue: inner, Store: webtest.OpenStore(t), Name: "retries", Now: func() time.Time { return now }}, inner
}

// timers returns the messages that are stored as timers, with the times at which the ticker sends them.
func timers(t *testing.T, s store.Store) map[time.Time]queue.Message {
	t.Helper()
	all := map[time.Time]queue.Message{}
	for shard := range store.DueShards {
		for item, err := range store.Items(t.Context(), s, store.Due(shard), store.Query{}) {
			errtest.Must(t, err)
			var timer store.Timer
			errtest.Must(t, item.Decode(&timer))
			name, m, err := timerqueue.Of(timer)
			errtest.Must(t, err)
			if name != "retries" {
				t.Errorf("the timer is of the queue %q, want retries", name)
			}
			all[timer.At] = m
		}
	}
	return all
}

// TestQueue_Send makes a message a timer if SQS cannot delay it long enough. The ticker sends it some minutes before it is due.
func TestQueue_Send(t *testing.T) {
	t.Parallel()
	q, inner := wrap(t)
	soon := queue.Message{Body: []byte("soon"), Group: "acme", Due: now.Add(15 * time.Minute)}
	late := queue.Message{Body: []byte("late"), Group: "acme", Due: now.Add(15*time.Minute + time.Millisecond)}
	later := queue.Message{Body: []byte("later"), Group: "acme", Due: now.Add(24 * time.Hour)}
	for range 2 { // a change is redelivered
		errtest.Must(t, q.Send(t.Context(), soon, late, later))
	}
	if diff := cmp.Diff([]queue.Message{soon, soon}, inner.sent); diff != "" {
		t.Errorf("messages sent to SQS differ (-want +got):\n%s", diff)
	}
	want := map[time.Time]queue.Message{late.Due.Add(-5 * time.Minute): late, later.Due.Add(-5 * time.Minute): later}
	if diff := cmp.Diff(want, timers(t, q.Store)); diff != "" {
		t.Errorf("timers differ (-want +got):\n%s", diff)
	}
}

// TestQueue_Defer sends a message on ten times. The next time it becomes a timer, which begins a new chain.
func TestQueue_Defer(t *testing.T) {
	t.Parallel()
	q, inner := wrap(t)
	r := queue.Received{Receipt: "r", Message: queue.Message{Body: []byte("busy"), Group: "acme"}}
	due := now.Add(3 * time.Second)
	for hop := 1; hop <= 10; hop++ {
		errtest.Must(t, q.Defer(t.Context(), r, due))
		r.Message = inner.sent[len(inner.sent)-1]
		if r.Hops != hop {
			t.Fatalf("sent on %d times, the message counts %d", hop, r.Hops)
		}
	}
	errtest.Must(t, q.Defer(t.Context(), r, due))
	if len(inner.sent) != 10 {
		t.Errorf("the message was sent on %d times, want 10", len(inner.sent))
	}
	if diff := cmp.Diff([]string{"r"}, inner.acked); diff != "" {
		t.Errorf("removed messages differ (-want +got):\n%s", diff)
	}
	want := map[time.Time]queue.Message{now: {Body: []byte("busy"), Group: "acme", Due: due}}
	if diff := cmp.Diff(want, timers(t, q.Store)); diff != "" {
		t.Errorf("timers differ (-want +got):\n%s", diff)
	}
}

// TestQueue_DeferLong makes a long wait a timer at once.
func TestQueue_DeferLong(t *testing.T) {
	t.Parallel()
	q, inner := wrap(t)
	r := queue.Received{Receipt: "r", Message: queue.Message{Body: []byte("throttled"), Group: "acme"}}
	errtest.Must(t, q.Defer(t.Context(), r, now.Add(time.Hour)))
	if len(inner.sent) != 0 {
		t.Errorf("%d messages were sent to SQS, want none", len(inner.sent))
	}
	if len(timers(t, q.Store)) != 1 {
		t.Errorf("%d timers, want 1", len(timers(t, q.Store)))
	}
}

// TestQueue_Refused refuses what a timer cannot hold, and keeps the message in the queue if the store is away.
func TestQueue_Refused(t *testing.T) {
	t.Parallel()
	q, inner := wrap(t)
	for _, m := range []queue.Message{{Group: "acme"}, {Body: []byte("of no company")}, {Body: make([]byte, queue.MaxBody+1), Group: "acme"}} {
		m.Due = now.Add(time.Hour)
		if err := q.Send(t.Context(), m); err == nil {
			t.Errorf("a message of %d bytes of %q was kept, want an error", len(m.Body), m.Group)
		}
	}
	q.Store = away{}
	r := queue.Received{Receipt: "r", Message: queue.Message{Body: []byte("wait"), Group: "acme"}}
	if err := q.Defer(t.Context(), r, now.Add(time.Hour)); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("without a store, Defer returns %v, want %v", err, queue.ErrUnavailable)
	}
	if len(inner.acked) != 0 {
		t.Error("the message was removed although no timer holds it")
	}
}

type away struct{ store.Store }

func (away) Commit(context.Context, ...store.Op) error { return store.ErrUnavailable }
