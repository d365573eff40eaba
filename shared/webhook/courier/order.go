package courier

import (
	"context"
	"errors"
	"sync"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// joinAtOnce bounds how many deliveries join their lines at once.
const joinAtOnce = 16

var errLineBroken = errors.New("an earlier delivery of the line is not recorded yet")

// order puts the deliveries of ordered endpoints into their lines, in the order in which the feed hands out their changes. A
// delivery that cannot be recorded stops its line: later ones fail and are redelivered, until a process has recorded it.
type order struct {
	turns  wait.Turns[lineKey]
	room   chan struct{} // full while so many join
	broken sync.Map      // by lineKey, the *Task whose delivery could not be recorded
}

type lineKey struct{ company, line string }

func lineOf(t *Task) lineKey { return lineKey{t.Company.ID(), delivery.LineKey(t.Delivery)} }

// lineUp records a task after the others of its line. Calls for one line must come in the order of its changes.
func (c *Courier) lineUp(t *Task) {
	o, key := c.order, lineOf(t)
	o.turns.Do(key, func() {
		o.room <- struct{}{}
		err := o.unbroken(key, t)
		if err == nil {
			if err = c.join(t); err != nil {
				o.broken.Store(key, t)
			}
		}
		<-o.room
		t.Done(Outcome{Err: err})
	})
}

// breaks returns the task that broke a line, nil if none did.
func (o *order) breaks(key lineKey) *Task {
	value, _ := o.broken.Load(key)
	t, _ := value.(*Task)
	return t
}

// Skip tells that a delivery is not made after all, because its endpoint's filter leaves the event out. An earlier try to record it may have
// stopped its line.
func (c *Courier) Skip(t *Task) {
	if broken := c.order.breaks(lineOf(t)); broken != nil && broken.Key == t.Key {
		c.order.broken.CompareAndDelete(lineOf(t), broken)
	}
}

// unbroken returns nil if the line is not broken, if t is the delivery that broke it, if another process has recorded that one
// meanwhile, or if the endpoint does not subscribe to its event any more.
func (o *order) unbroken(key lineKey, t *Task) error {
	broken := o.breaks(key)
	if broken == nil {
		return nil
	}
	if broken.Key != t.Key && t.Endpoint.Wants(broken.Delivery.Event, broken.Delivery.CreatedAt) {
		_, err := t.Company.Get(context.Background(), broken.Key, nil)
		if errors.Is(err, store.ErrNotFound) {
			return errLineBroken
		}
		if err != nil {
			return err
		}
	}
	o.broken.Delete(key)
	return nil
}

// join records a delivery at the end of its line. The Queue makes the first attempt, when the delivery is the head. A
// delivery that is already recorded stays as it is.
func (c *Courier) join(t *Task) (err error) {
	ctx := context.Background() // a batch is finished during shutdown too
	defer c.recovered(ctx, t, func() { err = errPanicked })
	if err = c.save(ctx, t); errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
