package ticker

import (
	"context"
	"fmt"

	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/store"
)

// send sends the message of a timer. If the timer is not removed after that, the next tick sends the message again. A worker
// decides from the record that the message names, so a second message has no effect.
func (t *Ticker) send(ctx context.Context, timer store.Timer) error {
	name, m, err := timerqueue.Of(timer)
	if err != nil {
		return err
	}
	q := t.Queues[name]
	if q == nil {
		return fmt.Errorf("no queue %q for the message of a timer; give the ticker the queue", name)
	}
	return q.Send(ctx, m)
}
