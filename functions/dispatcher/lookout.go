package dispatcher

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/memo"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

// maxLookouts bounds how many timers a process remembers. To set a forgotten timer again costs a refused write.
const maxLookouts = 4096

// lookout identifies a timer.
type lookout struct {
	company, kind, subject string
	at                     time.Time
}

// lookoutOf returns the timer that a change requires.
func lookoutOf(change store.Change, t delivery.Transition) (one lookout, ok bool) {
	one = lookout{company: change.Company, kind: syncrun.OverdueTimer}
	if change.Entity == syncrun.Entity {
		one.at, one.subject, ok = syncrun.Lookout(change)
	} else {
		one.at, one.kind, one.subject, ok = t.Lookout()
	}
	return one, ok
}

// lookOut sets, in the background, the timer that looks for the change's delivery, recovery or sync if its queue message is lost.
// The batch is finished when the timer is stored.
func (d *Dispatcher) lookOut(ctx context.Context, change store.Change, t delivery.Transition, work *tracker) {
	one, ok := lookoutOf(change, t)
	if !ok || d.lookouts.has(one) {
		return
	}
	work.add()
	go func() {
		_, err := memo.Get(ctx, one, func(ctx context.Context) (bool, error) { return true, d.setTimer(ctx, one) })
		work.finish(err)
	}()
}

// setTimer stores a timer, unless it is stored.
func (d *Dispatcher) setTimer(ctx context.Context, one lookout) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	c := store.For(d.Store, one.company)
	err := c.Commit(store.Patiently(ctx), c.Timer(one.at, one.kind, one.subject))
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	d.lookouts.add(one)
	return nil
}
