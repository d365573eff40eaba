// Package outbox sends the queue messages, and sets the timers, that committed changes require. What another function does later is first
// committed as a record: a delivery that is due later, a requested sync run, or a notice. The message follows from that change, so none is
// lost, and none is sent of what was not committed. A timer looks for the record in case its message is lost.
package outbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"orgops/shared/base/memo"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Outbox holds the queues. All exported fields are required. It is safe for concurrent use.
type Outbox struct {
	Store   store.Store
	Retries queue.Queue // deliveries that are due later, and recoveries
	Syncs   queue.Queue // sync runs
	Notices queue.Queue // what people are told

	done done // by idOf a change, timer, and the hour of an endpoint that fails
}

// Messages collects the queue messages of a batch of changes.
type Messages struct{ retries, syncs, notices outgoing }

// outgoing holds messages to one queue, and the keys of what is done when they are sent.
type outgoing struct {
	messages []queue.Message
	keys     []any
}

func (o *outgoing) add(key any, all ...queue.Message) {
	o.messages, o.keys = append(o.messages, all...), append(o.keys, key)
}

// done remembers by keys what this process has done, at most maxDone, of about 200 bytes each. Then it forgets all: to do it again is
// harmless.
type done struct {
	mu    sync.Mutex
	known map[any]bool
}

const maxDone = 20_000

func (d *done) has(key any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[key]
}

func (d *done) add(keys ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known)+len(keys) > maxDone {
		d.known = map[any]bool{}
	}
	for _, key := range keys {
		d.known[key] = true
	}
}

// idOf identifies a change whose messages were sent. Changes of different items may have one number, by different shards. A change is
// redelivered together with a failed one before it, but its message must not be sent again, because two messages of a delivery could make
// its attempt twice.
func idOf(c store.Change) any { return [...]string{c.Company, c.Key, string(c.Sequence)} }

// Add adds the messages that a change requires. replay reports that the change may have been handled before: it gets no message that this
// process has sent.
func (o *Outbox) Add(m *Messages, c store.Change, t delivery.Transition, replay bool) error {
	if replay && o.done.has(idOf(c)) {
		return nil
	}
	retry, retries, err := t.Due()
	if retries {
		m.retries.add(idOf(c), retry)
	}
	turn, turns, turnErr := recovery.Due(c)
	if turns {
		m.retries.add(idOf(c), turn)
	}
	run, syncs, syncErr := syncrun.Due(c)
	if syncs {
		m.syncs.add(idOf(c), run)
	}
	told, noticeErr := notice.Due(c)
	if turned := t.Turned(); turned != nil {
		told, noticeErr = notice.Turned(c, *turned)
	}
	if len(told) > 0 {
		m.notices.add(idOf(c), told...)
	}
	return errors.Join(o.addFailing(m, c, t), err, turnErr, syncErr, noticeErr)
}

// addFailing adds the message about a filter or a transformation that failed on a change, unless one was sent in this hour: each event may
// fail, and the notifier would read for each what the company's people were told.
func (o *Outbox) addFailing(m *Messages, c store.Change, t delivery.Transition) error {
	if !t.Unselected() {
		return nil
	}
	told, about, err := notice.Unselected(c)
	one := any([...]string{c.Company, about, c.At.Truncate(time.Hour).String()})
	if err == nil && !o.done.has(one) && !slices.Contains(m.notices.keys, one) {
		m.notices.add(one, told...)
	}
	return err
}

// Sends returns the calls that send the messages, one for each queue. The receiver detects a duplicate message.
func (o *Outbox) Sends(m Messages) (sends []func(context.Context) error) {
	to := func(q queue.Queue, out outgoing) {
		if len(out.messages) == 0 {
			return
		}
		sends = append(sends, func(ctx context.Context) error {
			err := q.Send(ctx, out.messages...)
			if err == nil {
				o.done.add(out.keys...)
			}
			return err
		})
	}
	to(o.Retries, m.retries)
	to(o.Syncs, m.syncs)
	to(o.Notices, m.notices)
	return sends
}

// timer is the key of a timer that was set. To set a forgotten one again costs a refused write.
type timer string

// timerTimeout bounds the write of a timer.
const timerTimeout = 10 * time.Second

// Lookout returns the call that sets the timer which looks for a change's delivery, recovery or sync if its queue message is lost. It returns
// nil if none is required, or if this process has set it.
func (o *Outbox) Lookout(change store.Change, t delivery.Transition) (set func(context.Context) error) {
	kind := delivery.OverdueTimer
	at, subject, required := t.Lookout()
	switch change.Entity {
	case recovery.Entity:
		kind = recovery.OverdueTimer
		at, subject, required = recovery.Lookout(change)
	case syncrun.Entity:
		kind = syncrun.OverdueTimer
		at, subject, required = syncrun.Lookout(change)
	}
	if !required {
		return nil
	}
	c := store.For(o.Store, change.Company)
	op := c.Timer(at, kind, subject)
	if o.done.has(timer(op.Key)) {
		return nil
	}
	return func(ctx context.Context) error {
		_, err := memo.Get(ctx, timer(op.Key), func(ctx context.Context) (bool, error) {
			ctx, cancel := context.WithTimeout(ctx, timerTimeout) // a memo's load has the context of the invocation
			defer cancel()
			err := c.Commit(store.Patiently(ctx), op)
			if err == nil || errors.Is(err, store.ErrConflict) {
				o.done.add(timer(op.Key))
				err = nil
			}
			return true, err
		})
		return err
	}
}
