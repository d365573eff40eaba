package retrier

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// result is what became of a parcel.
type result struct {
	parcel
	state  courier.State // Deferred: it waits on
	until  time.Time     // if Deferred
	failed bool          // an attempt was made and failed
	err    error
}

// launch begins the attempt of the first delivery that waits, if it may begin. Deliveries are admitted one after another, so that
// their tokens are used in order.
func (s *sending) launch(ctx context.Context) bool {
	switch {
	case len(s.waiting) == 0, s.Now().Before(s.pause), s.full && s.inFlight > 0, !s.Courier.Recordable(s.company.ID()):
		return false
	case s.unrecorded.Load() >= mostUnrecorded:
		return false
	case !s.Courier.Slots.TryAcquire(s.slot, courier.Queue):
		return false
	}
	release := sync.OnceFunc(func() { s.Courier.Slots.Release(s.slot, courier.Queue) })
	a, err := s.Courier.AdmitOf(context.WithoutCancel(ctx), s.endpoint, s.rec.Incarnation, courier.Queue, courier.RetryTimeout, len(s.waiting))
	if err != nil || !a.Until.IsZero() {
		release()
		if s.fail = err; err == nil {
			s.postpone(a.Until, a.Broken)
		}
		return false
	}
	one := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.full = false
	s.inFlight++
	s.pace()
	go func() {
		s.results <- s.attempt(ctx, a, one, release)
	}()
	return true
}

// pace lets the next attempt or the next page wait while the attempts of a backlog are spread: see Slots.Pace. A Lambda, which would
// pay for the wait, does not wait.
func (s *sending) pace() {
	if !s.Courier.Shared {
		s.pause = s.Now().Add(s.Courier.Slots.Pace(s.slot))
	}
}

// postpone lets no attempt begin until a time. If that is not in the future, an attempt must end first.
func (s *sending) postpone(until time.Time, broken bool) {
	s.full = !until.After(s.Now())
	if until.After(s.pause) {
		s.pause = until
	}
	s.broken = s.broken || broken
}

// attempt attempts a delivery, whose schedule starts again, and records it. It calls release when it needs the slot no longer.
func (s *sending) attempt(ctx context.Context, a *courier.Admission, one parcel, release func()) (got result) {
	defer release()
	defer func() {
		if v := recover(); v != nil { // as in package work: Guard does not cover this goroutine
			s.Logger.ErrorContext(ctx, "attempt panicked", "key", one.key, "panic", v, "stack", string(debug.Stack()))
			got = result{parcel: one, err: errPanicked}
		}
	}()
	finishing := context.WithoutCancel(ctx)
	id := working{s.company.ID(), one.key}
	if _, busy := s.working.LoadOrStore(id, true); busy {
		a.Leave(finishing)
		return result{parcel: one, state: courier.Deferred, until: s.Now()}
	}
	defer s.working.Delete(id)
	if o, ok := s.kept.take(id); ok { // an earlier run's
		a.Leave(finishing)
		return ended(result{parcel: one, state: courier.Done}, s.record(ctx, s.company, one.key, o))
	}
	o := outcome{one.version, one.Delivery}
	o.delivery.Begin(s.rec.ID)
	did := s.Retrier.attempt(finishing, a, &o)
	release() // the record may take long to write
	s.unrecorded.Add(1)
	defer s.unrecorded.Add(-1)
	if did.State == courier.Deferred && !did.Attempted {
		return result{parcel: one, state: courier.Deferred, until: did.Until}
	}
	got = result{parcel: one, state: did.State, failed: failed(did, o.delivery)}
	if got.failed {
		got.state = courier.Done // its next attempt has a message
	}
	return ended(got, s.record(ctx, s.company, one.key, o))
}

var errPanicked = errors.New("the attempt panicked")

// ended adds the outcome of a delivery's write. If the write conflicts, a tenant or another worker has changed the delivery, which
// then goes on with their change.
func ended(got result, written error) result {
	if !errors.Is(written, store.ErrConflict) {
		got.err = written
	}
	return got
}

// await waits until an attempt ends, or until others may begin.
func (s *sending) await(ctx context.Context) {
	more := len(s.waiting) > 0 || !s.complete
	if until := s.pause.Sub(s.Now()); until > 0 && more && !s.broken {
		timer := time.NewTimer(until)
		defer timer.Stop()
		select {
		case got := <-s.results:
			s.take(ctx, got)
		case <-timer.C:
		}
		return
	}
	s.take(ctx, <-s.results)
}

// rest waits while no attempt is in flight and none may begin. A long wait ends the run.
func (s *sending) rest(ctx context.Context) {
	if !s.Courier.Recordable(s.company.ID()) {
		s.fail = store.ErrUnavailable
		return
	}
	left := s.pause.Sub(s.Now())
	switch {
	case left > sendPause:
		s.due = s.pause.Add(s.Courier.SpillDelay())
		return
	case left <= 0: // other workers have the slots
		left = s.Courier.SpillDelay()
	}
	wait.For(ctx, left)
}

// take takes the result of an attempt.
func (s *sending) take(ctx context.Context, got result) {
	s.inFlight--
	switch {
	case got.err != nil:
		s.fail = got.err
		return
	case got.state == courier.Deferred:
		s.waiting = slices.Insert(s.waiting, 0, got.parcel)
		s.postpone(got.until, false)
		return
	case got.state == courier.Held:
		s.stale = true
	case got.failed && !s.judged:
		s.disableFailing(context.WithoutCancel(ctx), s.endpoint)
		s.judged = true
	case !got.failed:
		s.judged = true
		if s.broken { // the probe has arrived
			s.pause, s.broken = time.Time{}, false
		}
	}
	s.full = false
	got.page.left--
	s.advance(ctx)
}
