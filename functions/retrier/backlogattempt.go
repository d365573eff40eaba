package retrier

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// result is what became of a parcel.
type result struct {
	parcel
	courier.Outcome
	state delivery.State // of the delivery, if it does not wait on
}

// launch begins the attempt of the first delivery that waits, if it may begin. Deliveries begin one after another, so that
// their tokens are used in order.
func (b *backlog) launch(ctx context.Context) bool {
	if len(b.waiting) == 0 || b.Now().Before(b.next) || b.gate == full && b.inFlight > 0 {
		return false
	}
	one := b.waiting[0]
	t := &courier.Task{
		Source: courier.Backlog, Company: b.company, Key: one.key, Incarnation: b.rec.Incarnation, Endpoint: b.endpoint, Renew: b.endpoint == nil,
		Delivery: one.Delivery, Version: one.version, InHand: len(b.waiting), Recovery: b.rec.ID, Failing: b.failing, Select: b.selector.Again,
	}
	t.Done = func(o courier.Outcome) { b.results <- result{one, o, t.Delivery.State} }
	o, began := b.Courier.Start(ctx, t)
	b.endpoint = t.Endpoint
	switch {
	case began:
		b.waiting = b.waiting[1:]
		b.gate, b.next = open, o.Until
		b.inFlight++
		return true
	case o.Err == nil:
		b.postpone(o)
	case errors.Is(o.Err, store.ErrUnavailable) && b.inFlight > 0: // a record that is being written may show that the store is back
		b.gate = full
	default:
		b.fail = o.Err
	}
	return false
}

// postpone lets no attempt begin until a time. If that is not in the future, an attempt must end first.
func (b *backlog) postpone(o courier.Outcome) {
	switch {
	case o.Broken:
		b.gate = broken
	case b.gate == broken: // its probe is on the way
	case o.Until.After(b.Now()):
		b.gate = open
	default:
		b.gate = full
	}
	if o.Until.After(b.next) {
		b.next = o.Until
	}
}

// await waits until an attempt ends, or until others may begin.
func (b *backlog) await(ctx context.Context) {
	more := len(b.waiting) > 0 || !b.complete()
	if left := b.next.Sub(b.Now()); left > 0 && more && b.gate != broken {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case got := <-b.results:
			b.take(ctx, got)
		case <-timer.C:
		}
		return
	}
	b.take(ctx, <-b.results)
}

// rest waits while no attempt is in flight and none may begin. A long wait ends the run.
func (b *backlog) rest(ctx context.Context) {
	left := b.next.Sub(b.Now())
	switch {
	case left > sendPause:
		b.due = b.next.Add(b.Courier.Spill())
		return
	case left <= 0: // other workers have the slots
		left = b.Courier.Spill()
	}
	wait.For(ctx, left)
}

// take takes the result of an attempt.
func (b *backlog) take(ctx context.Context, got result) {
	b.inFlight--
	switch {
	case got.Err != nil:
		b.fail = got.Err
		return
	case !got.Until.IsZero():
		b.waiting = slices.Insert(b.waiting, 0, got.parcel)
		b.postpone(courier.Outcome{Until: got.Until})
		return
	case got.state == delivery.Held:
		b.endpoint = nil
	case b.gate == broken && (got.state == delivery.Delivered || got.state == delivery.Failed): // the probe has arrived
		b.gate, b.next = open, time.Time{}
	}
	if b.gate == full {
		b.gate = open
	}
	got.page.left--
	b.advance(ctx)
}
