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
	join func(*Task) error
	done func(*Task, error) // gets each task with the result
	room chan struct{}      // full while so many join

	mu     sync.Mutex
	open   map[lineKey][]*Task // the first is being recorded
	broken map[lineKey]*Task   // the delivery that could not be recorded
}

type lineKey struct{ company, line string }

func newOrder(join func(*Task) error, done func(*Task, error)) *order {
	return &order{join: join, done: done, room: make(chan struct{}, joinAtOnce), open: map[lineKey][]*Task{}, broken: map[lineKey]*Task{}}
}

func lineOf(t *Task) lineKey { return lineKey{t.Company.ID(), delivery.LineKey(t.Delivery)} }

// add puts a task behind the others of its line. Calls for one line must come in the order of its changes.
func (o *order) add(t *Task) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := lineOf(t)
	waiting := o.open[key]
	o.open[key] = append(waiting, t)
	if len(waiting) == 0 {
		go o.run(key)
	}
}

// run records the tasks of a line, one after the other.
func (o *order) run(key lineKey) {
	for t := o.next(key, 0); t != nil; t = o.next(key, 1) {
		o.room <- struct{}{}
		err := o.record(key, t)
		<-o.room
		o.done(t, err)
	}
}

// next removes the first done tasks of a queue and returns the task in front; nil, and the queue is gone, if no task waits.
func (o *order) next(key lineKey, done int) *Task {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[key] = o.open[key][done:]
	if len(o.open[key]) == 0 {
		delete(o.open, key)
		return nil
	}
	return o.open[key][0]
}

// record writes one delivery, and remembers it if that fails.
func (o *order) record(key lineKey, t *Task) error {
	if err := o.unbroken(key, t); err != nil {
		return err
	}
	err := o.join(t)
	if err != nil {
		o.mu.Lock()
		o.broken[key] = t
		o.mu.Unlock()
	}
	return err
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
	pause := firstPause
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
			wait.For(ctx, pause)
			pause = min(2*pause, lastPause)
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
