package dispatcher

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// messages collects the queue messages of a batch of changes.
type messages struct {
	retries []queue.Message
	syncs   []queue.Message
}

// add adds the messages of one change.
func (m *messages) add(c store.Change) error {
	retry, retries, err := delivery.Due(c)
	if retries {
		m.retries = append(m.retries, retry)
	}
	run, syncs, syncErr := syncrun.Due(c)
	if syncs {
		m.syncs = append(m.syncs, run)
	}
	return errors.Join(err, syncErr)
}

// sendTimeout bounds one call to a queue.
const sendTimeout = 10 * time.Second

// send sends the messages in the background, so that the next batches need not wait. The batch is finished when the queues
// have stored the messages. The receiver detects a duplicate message.
func (d *Dispatcher) send(ctx context.Context, m messages, work *tracker) {
	to := func(q queue.Queue, messages []queue.Message) {
		if len(messages) == 0 {
			return
		}
		work.add()
		go func() {
			ctx, cancel := context.WithTimeout(ctx, sendTimeout)
			defer cancel()
			work.finish(q.Send(ctx, messages...))
		}()
	}
	to(d.Retries, m.retries)
	to(d.Syncs, m.syncs)
}
