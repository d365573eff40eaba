package retrier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"orgops/functions/retrier"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

func (r *running) send(job any) {
	r.T.Helper()
	body, err := json.Marshal(job)
	errtest.Must(r.T, err)
	errtest.Must(r.T, r.Retries.Send(r.T.Context(), queue.Message{Body: body, Group: "a"}))
}

// TestRetrier_Run handles real messages: it acknowledges both messages of an attempt, takes the next message when it is due,
// and buries the malformed ones.
func TestRetrier_Run(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(500)
	stop := r.Go(r.Run)
	j := r.deliver(1)
	r.send(j)
	r.send(j)
	r.receiver.Next()
	for _, poison := range []any{"text", delivery.Job{}, delivery.Job{Company: "a"}} {
		r.send(poison)
	}
	worktest.Until(t, "the malformed messages are buried", func() bool {
		dead, err := r.Retries.DeadLetters(t.Context(), 10)
		errtest.Must(t, err)
		return len(dead) == 3
	})
	worktest.Until(t, "the attempt is recorded", func() bool { return r.record(j).Made == 2 })
	r.receiver.Answer(nil)
	r.send(job(r.record(j)))
	r.Clock.Set(*r.record(j).NextAttemptAt)
	worktest.Until(t, "the second attempt is made", func() bool {
		r.Clock.Advance(100 * time.Millisecond) // its message waits a little if it meets the second one
		return len(r.receiver.All()) == 2
	})
	worktest.Until(t, "the delivery is delivered", func() bool { return r.record(j).State == delivery.Delivered })
	r.Clock.Advance(10 * time.Second) // the second message may have been postponed a little
	stop()
	r.wantSent(2)
}

// TestRetrier_Run_Stops finishes the attempts in flight when it stops.
func TestRetrier_Run_Stops(t *testing.T) {
	t.Parallel()
	r := setup(t)
	open := r.receiver.Gate()
	stop := r.Go(r.Run)
	j := r.deliver(1)
	r.send(j)
	r.receiver.Next()
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	open()
	<-stopped
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 1}})
	r.Clock.Advance(time.Hour) // longer than any lease
	r.send("marker")
	left, err := r.Retries.Receive(t.Context(), queue.MaxBatch, time.Minute)
	errtest.Must(t, err)
	if len(left) != 1 {
		t.Errorf("%d messages in the queue, want only the marker", len(left))
	}
}

// patient waits out the backoff of each released message.
type patient struct {
	queue.Queue
	clock *clocktest.Clock
}

func (p patient) Release(ctx context.Context, r queue.Received, after time.Duration) error {
	defer p.clock.Advance(after)
	return p.Queue.Release(ctx, r, after)
}

// TestRetrier_Poison buries a message that keeps failing.
func TestRetrier_Poison(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Put("a", delivery.Key("odd", "webhook"), delivery.Entity, json.RawMessage(`{"state":1}`))
	r.send(delivery.Job{Company: "a", Delivery: "odd#webhook", Generation: 1})
	var received atomic.Int64
	w := retrier.New(retrier.Deps{Store: r.Store, Courier: r.Courier(), Queue: r.Retries, Logger: r.Logger, Now: r.Clock.Now}).Worker()
	handle := w.Handle
	w.Handle = func(ctx context.Context, m queue.Received) (time.Time, error) {
		received.Add(1)
		return handle(ctx, m)
	}
	w.Queue = patient{r.Retries, r.Clock}
	r.Go(w.Run)
	worktest.Until(t, "the message is buried", func() bool {
		dead, err := r.Retries.DeadLetters(t.Context(), 1)
		errtest.Must(t, err)
		return len(dead) == 1
	})
	if n := received.Load(); n < 20 {
		t.Errorf("received %d times, want at least 20", n)
	}
}

// TestRetrier_Run_Slow sends a slow endpoint four times as many deliveries at once with each round of its answers, as the
// dispatcher does.
func TestRetrier_Run_Slow(t *testing.T) {
	t.Parallel()
	r := setup(t)
	answers, failed := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(failed) })
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-answers:
			w.WriteHeader(http.StatusNoContent)
		case <-failed:
		}
	})
	const all = 200
	for n := range all {
		r.send(r.deliver(n))
	}
	r.Go(r.Run)
	delivered := func() (n int) {
		for _, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
			if d.State == delivery.Delivered {
				n++
			}
		}
		return n
	}
	sent := 0
	for _, round := range []int{16, 64, all - 16 - 64} {
		seen, since := 0, time.Now()
		worktest.Until(t, fmt.Sprintf("%d more requests come", round), func() bool {
			n := len(r.receiver.All())
			if n > seen {
				seen, since = n, time.Now()
			}
			if time.Since(since) > 100*time.Millisecond { // the others have found no slot. A longer step would make the answers look slow.
				r.Clock.Advance(time.Second)
				since = time.Now()
			}
			return n >= sent+round
		})
		for range round {
			r.receiver.Next()
		}
		sent += round
		r.wantSent(sent)
		r.Clock.Advance(3 * time.Second) // the others find no slot, and wait for up to three seconds
		for range round {
			answers <- struct{}{}
		}
		worktest.Until(t, fmt.Sprintf("%d deliveries are delivered", sent), func() bool { return delivered() == sent })
	}
}
