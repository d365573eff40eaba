package dispatcher

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/memo"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

// park parks a change in the background. If that fails, the change is redelivered.
func (d *Dispatcher) park(ctx context.Context, change store.Change, reason error, work *tracker) {
	work.add()
	go func() { work.finish(d.lot.Park(ctx, change, reason)) }()
}

// again handles the change in a parked item that an operator has given back. When all of its work is done, it removes the
// item. An item whose change is still not understood stays.
func (d *Dispatcher) again(ctx context.Context, item store.Change, work *tracker) {
	if item.New == nil {
		return
	}
	p, err := parked.Decode(item.New.Body)
	if err == nil && p.Consumer != Consumer {
		return
	}
	var original store.Change
	if err == nil {
		original, err = p.Original(item.Company)
	}
	if err != nil {
		d.Logger.ErrorContext(ctx, "parked change not usable", "company", item.Company, "parked", item.Key, "error", err)
		return
	}
	work.add()
	understood := false
	inner := &tracker{done: func(err error) {
		if err != nil || !understood {
			work.finish(err)
			return
		}
		go func() { work.finish(d.lot.Remove(ctx, item.Company, item.Key, item.New.Version)) }()
	}}
	inner.add()
	understood = d.begin(ctx, store.Batch{Changes: []store.Change{original}, Replay: true}, inner)
	inner.finish(nil)
}

// lookout identifies a timer that was set. To set a forgotten one again costs a refused write.
type lookout struct {
	company, kind, subject string
	at                     time.Time
}

// lookOut sets, in the background, the timer that looks for the change's delivery, recovery or sync if its queue message is lost.
// The batch is finished when the timer is stored.
func (d *Dispatcher) lookOut(ctx context.Context, change store.Change, t delivery.Transition, work *tracker) {
	one := lookout{company: change.Company, kind: syncrun.OverdueTimer}
	var required bool
	if change.Entity == syncrun.Entity {
		one.at, one.subject, required = syncrun.Lookout(change)
	} else {
		one.at, one.kind, one.subject, required = t.Lookout()
	}
	if !required || d.done.has(one) {
		return
	}
	work.add()
	go func() {
		_, err := memo.Get(ctx, one, func(ctx context.Context) (bool, error) { return true, d.setTimer(ctx, one) })
		work.finish(err)
	}()
}

// setTimer stores a timer, unless it is stored.
func (d *Dispatcher) setTimer(ctx context.Context, one lookout) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	c := store.For(d.Store, one.company)
	err := c.Commit(store.Patiently(ctx), c.Timer(one.at, one.kind, one.subject))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	d.done.add(one)
	return nil
}

// reconsider sends, in the background, a delivery that was held after its endpoint had become able to receive it. A worker that read
// the endpoint before it was enabled, certified or resumed may hold a delivery after the tenant's recovery has passed it. A
// delivery that was held before is the recovery's. The batch is finished when the delivery is in the queue or needs not be.
func (d *Dispatcher) reconsider(ctx context.Context, change store.Change, t delivery.Transition, work *tracker) {
	if t.BecameHeld() {
		work.do(ctx, func(ctx context.Context) error { return d.release(ctx, change) })
	}
}

// release puts a held delivery into the queue if its endpoint was able to receive it when it was held. If the delivery has changed
// since, another worker or the tenant has sent it again.
func (d *Dispatcher) release(ctx context.Context, change store.Change) error {
	company := store.For(d.Store, change.Company)
	e, err := d.Courier.Endpoint(ctx, company, delivery.EndpointOf(change.Key))
	if err != nil {
		return err
	}
	since := change.At
	if change.Stored.After(since) { // the write took long
		since = change.Stored
	}
	var one delivery.Delivery
	if err := fastjson.Unmarshal(change.New.Body, &one); err != nil {
		return err
	}
	if _, held := e.Held(one.Incarnation, d.Now()); held || e.UpdatedAt.Truncate(time.Millisecond).After(since) { // as exact as the time of a change
		return nil
	}
	lines := delivery.NewLines(company)
	if err := lines.Join(ctx, &one, d.Now()); err != nil {
		return err
	}
	err = company.Commit(ctx, lines.Ops(one.Save(company, change.New.Version))...)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) && conflict.Index == 0 {
		return nil
	}
	return err
}
