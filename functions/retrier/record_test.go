package retrier_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// fail makes every commit fail until the test calls heal.
func (r *running) fail() (heal func()) {
	r.faulty.Before(func([]store.Op) error { return store.ErrUnavailable })
	return func() { r.faulty.Before(nil) }
}

// ending is the context of a process that is about to end, so that a failed write is not tried again.
func ending() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// wantUnavailable handles a job, which must fail because the store is away. receives counts the deliveries of the message.
func (r *running) wantUnavailable(j delivery.Job, receives int) {
	r.T.Helper()
	body, err := json.Marshal(j)
	errtest.Must(r.T, err)
	_, err = r.Handle(ending(), queue.Received{Message: queue.Message{Body: body}, Receives: receives})
	if !errors.Is(err, store.ErrUnavailable) {
		r.T.Fatalf("delivery %d of the message: error %v, want %v", receives, err, store.ErrUnavailable)
	}
}

// TestRetrier_NotRecorded checks that a failed write of an attempt is repeated, and not the attempt.
func TestRetrier_NotRecorded(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{store.ErrUnavailable, store.ErrUnknown} {
		r := setup(t)
		j := r.deliver(1)
		r.faulty.Once(delivery.Entity, failure)
		r.wantDone("the message", r.handle(j), 1)
		r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 1}})
	}
}

// TestRetrier_NotRecorded_Redelivered checks that the next message of a delivery records the attempt that the earlier one
// made, and makes none.
func TestRetrier_NotRecorded_Redelivered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	heal := r.fail()
	for receives := range 3 {
		r.wantUnavailable(j, receives+1)
	}
	r.wantSent(1)
	heal()
	r.wantDone("the message, received again,", r.handle(j), 1)
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 1}})
}

// TestRetrier_Refused checks that a message fails soon if the store refuses the record of its attempt, as without the right to write,
// and that the next message records the attempt and makes none.
func TestRetrier_Refused(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	denied, writes := errors.New("AccessDeniedException"), 0
	r.faulty.Before(func([]store.Op) error { writes++; return denied })
	body, err := json.Marshal(j)
	errtest.Must(t, err)
	if _, err = r.Handle(t.Context(), queue.Received{Message: queue.Message{Body: body}, Receives: 1}); !errors.Is(err, denied) {
		t.Errorf("the message ended with %v, want %v", err, denied)
	}
	if writes != 4 {
		t.Errorf("%d writes, want 4 within 1.4 s", writes)
	}
	r.faulty.Before(nil)
	r.wantDone("the message, received again,", r.handle(j), 1)
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 1}})
}

// TestRetrier_NotRecorded_Requested checks that a retry that is requested before an attempt is recorded is still made.
func TestRetrier_NotRecorded_Requested(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	heal := r.fail()
	r.wantUnavailable(j, 1)
	heal()
	d := r.record(j)
	d.Restart(r.Clock.Now())
	r.save(d)
	r.handle(j)
	r.handle(job(d))
	r.wantSent(2)
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 1, Generation: 2}})
}

// TestRetrier_Unrecordable checks that no attempt of a company starts while its records cannot be written, and that the
// first write that succeeds ends this.
func TestRetrier_Unrecordable(t *testing.T) {
	t.Parallel()
	r := setup(t)
	heal := r.fail()
	first, second := r.deliver(1), r.deliver(2)
	r.wantUnavailable(first, 1)
	for range 3 {
		r.wantWait(r.handle(second), 20*time.Second, 30*time.Second) // the wait does not grow
	}
	r.wantSent(1)
	heal()
	r.wantDone("the second message", r.handle(second), 2)
	r.wantDone("the first message", r.handle(first), 2)
	r.wantDone("another message", r.handle(r.deliver(3)), 3)
}

// TestRetrier_ReceivedAgain checks that a message that was received before claims its delivery before the attempt, because
// an earlier worker may have made the attempt. While it cannot claim the delivery, it makes no attempt.
func TestRetrier_ReceivedAgain(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	heal := r.fail()
	r.wantUnavailable(j, 2)
	r.wantSent(0)
	heal()
	commits := 0
	r.faulty.Before(func([]store.Op) error { commits++; return nil })
	body, err := json.Marshal(j)
	errtest.Must(t, err)
	due, err := r.Handle(t.Context(), queue.Received{Message: queue.Message{Body: body}, Receives: 2})
	errtest.Must(t, err)
	r.wantDone("the message", due, 1)
	if want := 2; commits != want {
		t.Errorf("%d commits, want %d: the claim and the attempt", commits, want)
	}
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 1}})
}

// TestRetrier_Conflict checks what becomes of a message whose worker loses the write of its attempt to another worker.
func TestRetrier_Conflict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		other   func(r *running, d *delivery.Delivery) // what the other worker writes
		due     bool                                   // the message is kept
		message string
	}{
		{"an attempt", func(r *running, d *delivery.Delivery) {
			d.Log(delivery.Attempt{Number: 2, State: delivery.Failed, At: r.Clock.Now()})
			d.Enqueue(r.Clock.Now().Add(time.Hour))
		}, false, "the attempt is counted"},
		{"a success", func(_ *running, d *delivery.Delivery) { d.End(delivery.Delivered) }, false, "the delivery is settled"},
		{"a claim", func(r *running, d *delivery.Delivery) { d.Postpone(r.Clock.Now().Add(time.Minute)) }, true, "the other worker may die"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			j := r.deliver(1)
			var want delivery.Delivery
			r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
				want = r.record(j)
				tt.other(r, &want)
				r.save(want)
				w.WriteHeader(http.StatusInternalServerError)
			})
			due := r.handle(j)
			if tt.due {
				r.wantWait(due, time.Second, lease)
			} else {
				r.wantDone("the message ("+tt.message+")", due, 1)
			}
			if diff := cmp.Diff(want, r.record(j)); diff != "" {
				t.Errorf("record differs from the other worker's (-want +got):\n%s", diff)
			}
		})
	}
}

// lease repeats the lease of a message from retrier.go.
const lease = time.Minute
