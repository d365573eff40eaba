package simulate_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	"orgops/shared/storage/store"
)

// tick calls the ticker. After the hour it skips minutes in which no timer is due, because they would change only the mark.
func (w *world) tick() {
	w.ticks = time.Now().Truncate(time.Minute).Add(time.Minute)
	if w.calm {
		w.skipTicks()
		w.ticks = w.nextTimer()
	}
	if e := w.free(w.ticker); e != nil {
		v := w.invoke(e, nil, func(any, error) {
			if w.calm {
				w.ticks = w.nextTimer()
			}
		})
		w.trace.add("%s gets the minute", v.name)
	}
}

// mark is the ticker's record of the time up to which it has read the timers.
type mark struct {
	Until time.Time `json:"until"`
}

// skipTicks moves the ticker's mark as the ticks of the skipped minutes would have: none of them had a timer to fire. Without the
// mark the ticker would read the hours since then, a hundred partitions for each skipped day.
func (w *world) skipTicks() {
	last := time.Now().UTC().Add(-time.Minute)
	if at := w.earliest(); !at.IsZero() && at.Before(last.Add(-time.Minute)) {
		return // a timer is due that has failed
	}
	w.moveMark(last)
}

// moveMark moves the ticker's mark to a later time.
func (w *world) moveMark(last time.Time) {
	var m mark
	item, err := w.table.Get(time.Now(), store.System(), "TICKER")
	if err == nil {
		err = item.Decode(&m)
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		err = nil
		if m.Until.Before(last) {
			err = w.table.Commit(time.Now(), store.System().Entry("TICKER", "mark", item.Version, mark{last}))
		}
	}
	if err != nil {
		w.violated("records", "the ticker's mark: %v", err)
	}
}

// advanceTick makes the clock tick after the earliest timer that a commit sets. After the hour the clock waits for the timers that it
// knows.
func (w *world) advanceTick(ops []store.Op) {
	if !w.calm || !slices.ContainsFunc(ops, func(op store.Op) bool { return strings.HasPrefix(op.Partition.String(), "DUE#") }) {
		return
	}
	if at := w.nextTimer(); w.ticks.IsZero() || !at.IsZero() && at.Before(w.ticks) {
		w.ticks = at
	}
}

// nextTimer returns the minute after the earliest timer, zero without timers.
func (w *world) nextTimer() time.Time {
	at := w.earliest()
	if at.IsZero() {
		return at
	}
	if now := time.Now(); at.Before(now) {
		at = now
	}
	return at.Truncate(time.Minute).Add(time.Minute)
}

// earliest returns the time of the earliest timer, zero without timers.
func (w *world) earliest() (at time.Time) {
	for _, p := range w.table.Partitions() {
		if !strings.HasPrefix(p.String(), "DUE#") {
			continue
		}
		for _, item := range w.table.Query(time.Now(), p, store.Query{Limit: 1}).Items {
			var timer store.Timer
			if err := item.Decode(&timer); err == nil && (at.IsZero() || timer.At.Before(at)) {
				at = timer.At
			}
		}
	}
	return at
}
