package courier

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// joinAtOnce bounds how many deliveries join their lines at once.
const joinAtOnce = 16

// These bound the tries to write a delivery of a line. After the last one, its change is redelivered.
const (
	joinTries   = 6
	joinTimeout = 5 * time.Second
)

var errLineBroken = errors.New("an earlier delivery of the line is not recorded yet")

// order puts the deliveries of ordered endpoints into their lines, in the order in which the feed hands out their changes. A
// delivery that cannot be recorded stops its line: later ones fail and are redelivered, until a process has recorded it.
type order struct {
	turns wait.Turns[lineKey]
	room  chan struct{} // full while so many join

	mu     sync.Mutex
	broken map[lineKey]*Task // the delivery that could not be recorded
}

type lineKey struct{ company, line string }

func newOrder() *order {
	return &order{room: make(chan struct{}, joinAtOnce), broken: map[lineKey]*Task{}}
}

func lineOf(t *Task) lineKey { return lineKey{t.Company.ID(), delivery.LineKey(t.Delivery)} }

// lineUp records a task after the others of its line. Calls for one line must come in the order of its changes.
func (c *Courier) lineUp(t *Task) {
	o, key := c.order, lineOf(t)
	o.turns.Do(key, func() {
		o.room <- struct{}{}
		err := o.unbroken(key, t)
		if err == nil {
			if err = c.join(t); err != nil {
				o.stop(key, t)
			}
		}
		<-o.room
		t.Done(Outcome{Err: err})
	})
}

// stop remembers that a delivery could not be recorded.
func (o *order) stop(key lineKey, t *Task) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken[key] = t
}

// skip lets a line go on without a delivery that its endpoint does not get any more.
func (o *order) skip(t *Task) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if broken := o.broken[lineOf(t)]; broken != nil && broken.Key == t.Key {
		delete(o.broken, lineOf(t))
	}
}

// unbroken returns nil if the line is not broken, if t is the delivery that broke it, if another process has recorded that one
// meanwhile, or if the endpoint does not subscribe to its event any more.
func (o *order) unbroken(key lineKey, t *Task) error {
	o.mu.Lock()
	broken := o.broken[key]
	o.mu.Unlock()
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
	o.mu.Lock()
	delete(o.broken, key)
	o.mu.Unlock()
	return nil
}

// join records a delivery at the end of its line. The Queue makes the first attempt, when the delivery is the head. A
// delivery that is already recorded stays as it is.
func (c *Courier) join(t *Task) (err error) {
	ctx := context.Background() // a batch is finished during shutdown too
	defer c.recovered(ctx, t, func() { err = errPanicked })
	for try := 1; ; try++ {
		err := c.joinOnce(ctx, t)
		c.records.wrote(t.slot.Company, err)
		var conflict *store.ConflictError
		switch changed := errors.As(err, &conflict); {
		case err == nil, changed && conflict.Key == t.Key:
			return nil
		case changed && try < lineTries:
		case try >= joinTries:
			return err
		default:
			wait.For(ctx, backoff(try))
		}
	}
}

func (c *Courier) joinOnce(ctx context.Context, t *Task) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	one, lines := t.Delivery, delivery.NewLines(t.Company)
	if err := lines.Join(ctx, &one, c.Now().UTC()); err != nil {
		return err
	}
	err := t.Company.Commit(ctx, lines.Ops(one.Save(t.Company, 0))...)
	if err == nil {
		c.count(&one)
	}
	return err
}
