package simulate_test

import (
	"context"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// expire lets a month pass, in which deliveries, receipts and other records expire. DynamoDB deletes each of them days
// later, and readers must not see them meanwhile. An operator rebuilds every context in these days. The deletions come
// through the stream. In the end the contexts must agree with what is left.
func (w *world) expire() {
	const days = 4
	for end := time.Now().Add(delivery.Kept); time.Now().Before(end); {
		w.day() // timers go on: goals are reviewed, and briefs are written
	}
	for day := range days {
		w.day()
		if day == 1 {
			for _, company := range w.companies {
				w.client("rebuild of expired "+company, company, func(ctx context.Context, cl client) error { return cl.rebuild(ctx) })()
			}
		}
		n := w.table.SweepSome(time.Now(), func(store.Partition, string) bool { return day == days-1 || w.chance(0.3) })
		w.trace.add("TTL deletes %d items", n)
		w.runFor(time.Hour)
	}
	if w.broken == "" {
		w.checkExpired()
	}
}

// day lets a day pass, in which the clock ticks when a timer is due.
func (w *world) day() {
	if w.ticks.IsZero() {
		w.ticks = w.nextTimer()
	}
	w.runFor(24 * time.Hour)
}

// checkExpired checks what holds when items have expired: nothing that may still be needed is gone, and the contexts agree
// with the changes and with the records.
func (w *world) checkExpired() {
	w.checkRest()
	for _, company := range w.companies {
		changes := w.changes(company)
		w.checkHeld(company, w.logs(changes))
		w.checkContext(company, changes)
		w.checkIsolation(company)
	}
}
