package dispatcher

import (
	"context"
	"errors"
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
}

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

// sendTimeout bounds one call to a queue.
const sendTimeout = 10 * time.Second

// send sends the messages in the background, so that the next batches need not wait. The batch is finished when the queues
// have stored the messages. The receiver detects a duplicate message.
func (d *Dispatcher) send(ctx context.Context, m messages, work *tracker) {
	to := func(q queue.Queue, o outgoing) {
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
			}
			work.finish(err)
		}()
	}
	to(d.Retries, m.retries)
	to(d.Syncs, m.syncs)
	to(d.Notices, m.notices)
}
