package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// messages collects the queue messages of a batch of changes.
type messages struct {
	retries outgoing
	syncs   outgoing
	notices outgoing

	failing []failing // endpoints that the notices tell of
}

// failing names an endpoint whose filter or transformation failed, in an hour. A process asks the notifier to tell of it once: each event
// may fail, and the notifier would read for each what the company's people were told.
type failing struct {
	company, about string
	hour           time.Time
}

// maxFailing limits the endpoints that are remembered.
const maxFailing = 4096

// changeID identifies a change. Changes of different items may have one number, by different shards. The dispatcher remembers those whose messages it has sent: a change is redelivered together with a
// failed one before it, but its message must not be sent again, because two messages of a delivery could make its attempt twice.
type changeID struct {
	company  string
	key      string
	sequence store.Sequence
}

func idOf(c store.Change) changeID { return changeID{c.Company, c.Key, c.Sequence} }

// maxSent limits the changes that are remembered, of about 200 bytes each.
const maxSent = 10_000

// outgoing holds messages to one queue, and the changes that ask for them.
type outgoing struct {
	messages []queue.Message
	changes  []changeID
}

func (o *outgoing) add(m queue.Message, c store.Change) {
	o.messages, o.changes = append(o.messages, m), append(o.changes, idOf(c))
}

// add adds the messages of one change.
func (m *messages) add(c store.Change, t delivery.Transition) error {
	retry, retries, err := t.Due()
	if retries {
		m.retries.add(retry, c)
	}
	run, syncs, syncErr := syncrun.Due(c)
	if syncs {
		m.syncs.add(run, c)
	}
	told, noticeErr := notice.Due(c)
	if turned := t.Turned(); turned != nil {
		told, noticeErr = notice.Turned(c, *turned)
	}
	for _, one := range told {
		m.notices.add(one, c)
	}
	return errors.Join(err, syncErr, noticeErr)
}

// addFailing adds the message about a filter or a transformation that failed on a change, unless one was sent.
func (m *messages) addFailing(c store.Change, sent *set[failing]) error {
	told, about, err := notice.Unselected(c)
	one := failing{c.Company, about, c.At.Truncate(time.Hour)}
	if err != nil || sent.has(one) || slices.Contains(m.failing, one) {
		return err
	}
	m.failing = append(m.failing, one)
	for _, message := range told {
		m.notices.add(message, c)
	}
	return nil
}

// sendTimeout bounds one call to a queue.
const sendTimeout = 10 * time.Second

// send sends the messages in the background, so that the next batches need not wait. The batch is finished when the queues
// have stored the messages. The receiver detects a duplicate message.
func (d *Dispatcher) send(ctx context.Context, m messages, work *tracker) {
	to := func(q queue.Queue, o outgoing, sent func()) {
		if len(o.messages) == 0 {
			return
		}
		work.add()
		go func() {
			ctx, cancel := context.WithTimeout(ctx, sendTimeout)
			defer cancel()
			err := q.Send(ctx, o.messages...)
			if err == nil {
				d.sent.add(o.changes...)
				sent()
			}
			work.finish(err)
		}()
	}
	to(d.Retries, m.retries, func() {})
	to(d.Syncs, m.syncs, func() {})
	to(d.Notices, m.notices, func() { d.failing.add(m.failing...) })
}
