package retrier

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/endpoint"
)

// These shape one run of a recovery that sends its deliveries itself.
const (
	sendFor   = time.Minute       // attempts begin
	sendLease = 130 * time.Second // of a message: longer than a run and the attempts that it has begun
	sendPage  = 100               // deliveries of a query
	sendPause = 5 * time.Second   // a longer wait ends the run
	otherRun  = 10 * time.Second  // until a recovery asks again that found another one at work
)

// backlog is a run of a recovery. It reads the deliveries a page at a time and gives them to the engine at once, as many as the
// endpoint has slots for, without a message for each. So a delivery costs one write, and its part of a page. A delivery
// whose attempt fails then has a message, as after every failed attempt.
//
// One run at a time sends to an endpoint. A run that is killed leaves the recovery at its last finished page. The next run
// recognises the deliveries that were recorded, by their recovery.
type backlog struct {
	*Retrier
	company  store.Company
	rec      recovery.Stored
	version  int64              // of rec
	endpoint *endpoint.Endpoint // nil: it must be read again
	ends     time.Time          // no attempt begins later

	pages   []*page // read and not finished, in order
	waiting []parcel
	reads   int
	after   string // where the next page begins
	changed bool   // rec is ahead of the store

	results  chan result
	inFlight int       // attempts, until they are recorded
	next     time.Time // no attempt begins before
	full     bool      // another attempt must end first

	due  time.Time // not zero: the run ends, and the recovery goes on then
	fail error     // not nil: the run ends
}

// run sends until the window is complete, the time is over or something fails, and then waits for the attempts in flight.
func (b *backlog) run(ctx context.Context) (due time.Time, err error) {
	for !b.over(ctx) {
		switch left := b.next.Sub(b.Now()); {
		case len(b.waiting) == 0 && !b.complete() && left <= 0:
			b.read(ctx)
		case len(b.waiting) > 0 && left <= 0 && !b.full:
			b.launch(ctx)
		case b.inFlight > 0:
			b.await(ctx, left)
		case left > sendPause:
			b.due = b.next.Add(b.Courier.Spill())
		default:
			wait.For(ctx, left)
		}
	}
	for b.inFlight > 0 {
		b.take(ctx, <-b.results)
	}
	if b.changed {
		b.save(ctx)
	}
	switch {
	case b.fail != nil && !errors.Is(b.fail, store.ErrConflict): // a tenant or another worker was faster: read again
		return time.Time{}, b.fail
	case b.rec.State == recovery.Finished && b.fail == nil:
		return time.Time{}, nil
	case b.due.IsZero():
		return b.Now(), nil
	}
	return b.due, nil
}

func (b *backlog) complete() bool { return b.reads > 0 && b.after == "" }

// over reports whether no attempt begins any more.
func (b *backlog) over(ctx context.Context) bool {
	done := b.complete() && len(b.waiting) == 0 && b.inFlight == 0
	return done || b.fail != nil || !b.due.IsZero() || ctx.Err() != nil || b.Now().After(b.ends)
}

type result struct {
	parcel
	courier.Outcome
	state delivery.State // of the delivery, if it does not wait on
}

// launch begins the attempt of the first delivery that waits, if it may begin. Deliveries begin one after another, so that
// their tokens are used in order.
func (b *backlog) launch(ctx context.Context) {
	one := b.waiting[0]
	t := &courier.Task{
		Source: courier.Backlog, Company: b.company, Key: one.key, Incarnation: b.rec.Incarnation, Endpoint: b.endpoint,
		Delivery: one.Delivery, Version: one.version, InHand: len(b.waiting), Recovery: b.rec.ID, Failing: b.failing, Select: b.selector.Again,
	}
	t.Done = func(o courier.Outcome) { b.results <- result{one, o, t.Delivery.State} }
	o, began := b.Courier.Start(ctx, t)
	b.endpoint = t.Endpoint
	switch {
	case began:
		b.waiting = b.waiting[1:]
		b.inFlight++
	case o.Err == nil:
		b.postpone(o.Until)
	case errors.Is(o.Err, store.ErrUnavailable) && b.inFlight > 0: // a record that is being written may show that the store is back
		b.full = true
	default:
		b.fail = o.Err
	}
}

// postpone lets no attempt begin until a time. If that is not in the future, an attempt must end first. If none is in flight, others hold the
// slots or the delivery, and the run asks again a little later.
func (b *backlog) postpone(until time.Time) {
	b.next, b.full = until, !until.After(b.Now())
	if b.full && b.inFlight == 0 {
		b.next, b.full = b.Now().Add(b.Courier.Spill()), false
	}
}

// await waits until an attempt ends, or until others may begin.
func (b *backlog) await(ctx context.Context, left time.Duration) {
	var begin <-chan time.Time
	if left > 0 && (len(b.waiting) > 0 || !b.complete()) {
		begin = time.After(left)
	}
	select {
	case got := <-b.results:
		b.take(ctx, got)
	case <-begin:
	}
}

// take takes the result of an attempt. An answer may have closed the breaker, so what waits for it is tried.
func (b *backlog) take(ctx context.Context, got result) {
	b.inFlight--
	switch {
	case got.Err != nil:
		b.fail = got.Err
		return
	case !got.Until.IsZero():
		b.waiting = slices.Insert(b.waiting, 0, got.parcel)
		b.postpone(got.Until)
		return
	case got.state == delivery.Held:
		b.endpoint = nil
	case got.state == delivery.Delivered || got.state == delivery.Failed:
		b.next = time.Time{}
	}
	b.full = false
	got.page.left--
	b.advance(ctx)
}
