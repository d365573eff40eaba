package dispatcher

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
)

// park parks a change in the background. If that fails, the change is redelivered.
func (d *Dispatcher) park(ctx context.Context, change store.Change, reason error, work *tracker) {
	work.do(ctx, func(ctx context.Context) error { return d.lot.Park(ctx, change, reason) })
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

// release puts a held delivery into the queue if its endpoint was able to receive it when it was held. A worker that read the endpoint
// before it was enabled, certified or resumed may hold a delivery after the tenant's recovery has passed it. A delivery that was held
// before is the recovery's. If the delivery has changed since, another worker or the tenant has sent it again.
func (d *Dispatcher) release(ctx context.Context, change store.Change) error {
	company := store.For(d.Store, change.Company)
	e, err := d.Courier.Endpoint(ctx, company, delivery.EndpointOf(change.Key))
	if err != nil {
		return err
	}
	since := wait.Later(change.At, change.Stored) // the write may have taken long
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
	if conflict, ok := errors.AsType[*store.ConflictError](err); ok && conflict.Index == 0 {
		return nil
	}
	return err
}
