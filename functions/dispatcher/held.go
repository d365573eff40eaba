package dispatcher

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// reconsider sends, in the background, a delivery that was held after its endpoint had become able to receive it. A worker that read
// the endpoint before it was enabled, certified or resumed may hold a delivery after the tenant's recovery has passed it. A
// delivery that was held before is the recovery's. The batch is finished when the delivery is in the queue or needs not be.
func (d *Dispatcher) reconsider(ctx context.Context, change store.Change, t delivery.Transition, work *tracker) {
	if !t.BecameHeld() {
		return
	}
	work.add()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, sendTimeout)
		defer cancel()
		work.finish(d.release(ctx, change))
	}()
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
	op := company.Replace(change.Key, delivery.Entity, change.New.Version, one).Until(one.Expires())
	err = company.Commit(ctx, append([]store.Op{op}, lines.Ops()...)...)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) && conflict.Index == 0 {
		return nil
	}
	return err
}
