package ticker_test

import (
	"context"
	"testing"
	"time"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/testkit/errtest"
)

// TestTicker_Message sends a message that waits as a timer shortly before it is due, and the queue delivers it when it is due.
func TestTicker_Message(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.ticker.Queues = map[string]queue.Queue{"retries": r.Retries}
	now := r.Clock.Now()
	due := now.Add(2 * time.Hour)
	long := timerqueue.Queue{Queue: r.Retries, Store: r.Store, Name: "retries", Now: r.Clock.Now}
	errtest.Must(t, long.Send(t.Context(), queue.Message{Body: []byte("later"), Group: "a", Due: due}))
	r.tick()
	r.Clock.Set(due)
	r.wantMessage("")
	r.Clock.Set(due.Add(-5 * time.Minute))
	r.tick()
	r.wantMessage("")
	r.Clock.Set(due)
	r.wantMessage("later")
	r.wantNoTimers(due)
}

// TestTicker_MessageUnsent keeps the timer of a message while the queue is away.
func TestTicker_MessageUnsent(t *testing.T) {
	t.Parallel()
	r := setup(t)
	due := r.Clock.Now().Add(time.Hour)
	long := timerqueue.Queue{Queue: r.Retries, Store: r.Store, Name: "retries", Now: r.Clock.Now}
	errtest.Must(t, long.Send(t.Context(), queue.Message{Body: []byte("later"), Group: "a", Due: due}))
	r.ticker.Queues = map[string]queue.Queue{"retries": closed{r.Retries}}
	r.Clock.Set(due)
	r.tick()
	r.wantMessage("")
	r.ticker.Queues["retries"] = r.Retries
	r.tick()
	r.wantMessage("later")
	r.wantNoTimers(due)
}

// TestTicker_Panic keeps a timer whose effect panics, and fires the timers behind it.
func TestTicker_Panic(t *testing.T) {
	t.Parallel()
	r := setup(t)
	due := r.Clock.Now().Add(time.Hour)
	for name, at := range map[string]time.Time{"broken": due.Add(-time.Minute), "retries": due} {
		long := timerqueue.Queue{Queue: r.Retries, Store: r.Store, Name: name, Now: r.Clock.Now}
		errtest.Must(t, long.Send(t.Context(), queue.Message{Body: []byte(name), Group: "a", Due: at}))
	}
	r.ticker.Queues = map[string]queue.Queue{"retries": r.Retries, "broken": broken{r.Retries}}
	r.Clock.Set(due)
	r.tick()
	r.wantMessage("retries")
	r.ticker.Queues["broken"] = r.Retries
	r.tick()
	r.wantMessage("broken")
	r.wantNoTimers(due)
}

// broken panics.
type broken struct{ queue.Queue }

func (broken) Send(context.Context, ...queue.Message) error { panic("a message that ends its sender") }

// closed refuses messages.
type closed struct{ queue.Queue }

func (closed) Send(context.Context, ...queue.Message) error { return queue.ErrUnavailable }

// wantMessage receives the messages that are due, and compares them with the only one; "" means none.
func (r *running) wantMessage(want string) {
	r.T.Helper()
	ctx, stop := context.WithTimeout(r.T.Context(), 50*time.Millisecond)
	defer stop()
	got, err := r.Retries.Receive(ctx, 10, time.Minute)
	errtest.Must(r.T, err)
	all := ""
	for _, m := range got {
		all += string(m.Body)
		errtest.Must(r.T, r.Retries.Ack(r.T.Context(), m))
	}
	if all != want {
		r.T.Errorf("the queue delivers %q, want %q", all, want)
	}
}
