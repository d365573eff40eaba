package dispatcher

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// messages collects the queue messages of a batch of changes.
type messages struct{ retries, syncs, notices outgoing }

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

func (m *messages) add(c store.Change, t delivery.Transition) error {
	retry, retries, err := t.Due()
	if retries {
		m.retries.add(idOf(c), retry)
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
	return errors.Join(err, syncErr, noticeErr)
}

// addFailing adds the message about a filter or a transformation that failed on a change, unless one was sent in this hour: each event may
// fail, and the notifier would read for each what the company's people were told.
func (m *messages) addFailing(c store.Change, sent *done) error {
	told, about, err := notice.Unselected(c)
	one := any([...]string{c.Company, about, c.At.Truncate(time.Hour).String()})
	if err == nil && !sent.has(one) && !slices.Contains(m.notices.keys, one) {
		m.notices.add(one, told...)
	}
	return err
}

// sendTimeout bounds what is done in the background, such as one call to a queue.
const sendTimeout = 10 * time.Second

// send sends the messages in the background, so that the next batches need not wait. The batch is finished when the queues
// have stored the messages. The receiver detects a duplicate message.
func (d *Dispatcher) send(ctx context.Context, m messages, work *tracker) {
	to := func(q queue.Queue, o outgoing) {
		if len(o.messages) == 0 {
			return
		}
		work.do(ctx, func(ctx context.Context) error {
			err := q.Send(ctx, o.messages...)
			if err == nil {
				d.done.add(o.keys...)
			}
			return err
		})
	}
	to(d.Retries, m.retries)
	to(d.Syncs, m.syncs)
	to(d.Notices, m.notices)
}
