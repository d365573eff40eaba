package dispatcher_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// failing makes the writes of a company's deliveries fail until the test calls heal, and counts them.
func (r *running) failing(company string) (failed *atomic.Int64, heal func()) {
	return r.failingWith(company, store.ErrUnavailable)
}

func (r *running) failingWith(company string, err error) (failed *atomic.Int64, heal func()) {
	failed = &atomic.Int64{}
	r.faulty.Before(func(ops []store.Op) error {
		for _, op := range ops {
			if id, _ := op.Partition.CompanyID(); id == company && op.Entity == delivery.Entity {
				failed.Add(1)
				return err
			}
		}
		return nil
	})
	return failed, func() { r.faulty.Before(nil) }
}

// wantFailed waits for at least n failed writes.
func wantFailed(t *testing.T, failed *atomic.Int64, n int64) {
	t.Helper()
	worktest.Until(t, "the writes have failed", func() bool { return failed.Load() >= n })
}

// TestDispatcher_NotRecorded checks that a failed write of an attempt is repeated, and not the attempt.
func TestDispatcher_NotRecorded(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	failed, heal := r.failing("a")
	r.remember("a", 1)
	wantFailed(t, failed, 4)
	heal()
	r.wantSettled("a", states{delivery.Delivered: 1})
	r.wantReceived(receiver, 1)
}

// TestDispatcher_NotRecorded_Redelivered checks that a change that is redelivered before its attempt is recorded joins the
// attempt.
func TestDispatcher_NotRecorded_Redelivered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.remember("a", 1)
	failed, heal := r.failing("a")
	changes := r.Changes(2)
	f := feedOf(store.Batch{Changes: changes, Replay: true}, store.Batch{Changes: changes, Replay: true})
	r.run(f)
	wantFailed(t, failed, 3)
	heal()
	for range 2 {
		if err := <-f.finished; err != nil {
			t.Error(err)
		}
	}
	r.wantSettled("a", states{delivery.Delivered: 1})
	r.wantReceived(receiver, 1)
}

// TestDispatcher_Refused checks that a change fails soon if the store refuses its record as a store without the right does, and that
// the attempt is not made again when the change is redelivered.
func TestDispatcher_Refused(t *testing.T) {
	t.Parallel()
	r := setup(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.remember("a", 1)
	changes := r.Changes(2)
	r.run(feedOf())
	denied := errors.New("AccessDeniedException")
	_, heal := r.failingWith("a", denied)
	handle := func() error {
		done := make(chan error, 1)
		r.dispatcher.Handle(t.Context(), store.Batch{Changes: changes, Replay: true}, func(err error) { done <- err })
		return <-done
	}
	for range 2 {
		if err := handle(); !errors.Is(err, denied) {
			t.Errorf("the change ended with %v, want %v", err, denied)
		}
	}
	heal()
	errtest.Must(t, handle())
	r.wantSettled("a", states{delivery.Delivered: 1})
	r.wantReceived(receiver, 1)
}

// TestDispatcher_NotRecorded_Stop checks that the dispatcher stops although a record cannot be written.
func TestDispatcher_NotRecorded_Stop(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	failed, _ := r.failing("a")
	r.remember("a", 1)
	wantFailed(t, failed, 1)
	r.stop()
	r.wantReceived(receiver, 1)
	r.wantSettled("a", states{})
}

// TestDispatcher_Unrecordable checks that no attempt starts while a company's records cannot be written, and that another
// company's attempts do. The company's later deliveries are recorded first, so the retrier makes their attempts.
func TestDispatcher_Unrecordable(t *testing.T) {
	t.Parallel()
	r := setup(t, separate)
	r.run(r.Store)
	throttled, well := r.Receive(), r.Receive()
	r.Subscribe("a", "webhook", throttled, "memory.*")
	r.Subscribe("b", "webhook", well, "memory.*")
	failed, heal := r.failing("a")
	r.remember("a", 1)
	wantFailed(t, failed, 1)
	const later = 5
	for i := range later {
		r.remember("a", 2+i)
		r.remember("b", i)
		well.Next()
	}
	r.wantSettled("b", states{delivery.Delivered: later})
	r.wantReceived(throttled, 1)
	heal()
	r.wantSettled("a", states{delivery.Delivered: 1, delivery.Scheduled: later})
	r.wantReceived(throttled, 1)
}

// TestDispatcher_Late checks that a replayed change that is old is recorded before its attempt, because an earlier process
// may have made the attempt.
func TestDispatcher_Late(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		replay bool
		age    time.Duration
		want   states
	}{
		{"replayed at once", true, 30 * time.Second, states{delivery.Delivered: 1}},
		{"replayed late", true, 2 * time.Minute, states{delivery.Scheduled: 1}},
		{"late, but never handed over before", false, 2 * time.Minute, states{delivery.Delivered: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			receiver := r.Receive()
			r.Subscribe("a", "webhook", receiver, "memory.*")
			r.remember("a", 1)
			changes := r.Changes(2)
			r.Clock.Advance(tt.age)
			f := feedOf(store.Batch{Changes: changes, Replay: tt.replay})
			r.run(f)
			if err := <-f.finished; err != nil {
				t.Error(err)
			}
			r.wantSettled("a", tt.want)
			r.wantReceived(receiver, tt.want[delivery.Delivered])
		})
	}
}
