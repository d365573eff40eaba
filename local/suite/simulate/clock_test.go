package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/functions/ticker"
	"orgops/local/suite/simulate/simqueue"
	"orgops/shared/storage/store"
)

// tick calls the ticker. After the hour it skips minutes in which no timer is due.
func (w *world) tick() {
	w.ticks = time.Now().Truncate(time.Minute).Add(time.Minute)
	if w.calm {
		w.ticks = w.nextTimer()
	}
	if e := w.free(w.ticker); e != nil {
		v := w.invoke(e, ticker.Event{}, func(any, error) {
			if w.calm {
				w.ticks = w.nextTimer()
			}
		})
		w.trace.add("%s gets the minute", v.name)
	}
}

// asks starts a further invocation of the ticker.
func (e *environment) asks(ctx context.Context, event any) error {
	shard := *event.(ticker.Event).Shard
	w, who := e.w, fmt.Sprint(e.who(ctx), " asks for shard ", shard)
	calls := e.lineage()[w.ticker.name] + 1
	return w.ask(ctx, &call{
		id: who, kind: send, env: e, at: time.Now().Add(w.latency), refusal: errRefused,
		do: func() error {
			w.help(who, simqueue.Lineage{w.ticker.name: calls}, shard, time.Now().Add(time.Minute))
			return nil
		},
	})
}

var errRefused = errors.New("the call is refused")

// help calls the ticker for a shard as soon as an environment is free. Lambda drops an event that has waited for a minute.
func (w *world) help(who string, lineage simqueue.Lineage, shard int, until time.Time) {
	if time.Now().After(until) {
		w.trace.add("%s: dropped", who)
		return
	}
	e := w.free(w.ticker)
	if e == nil {
		w.schedule(time.Now().Add(time.Second), who+", again", func() { w.help(who, lineage, shard, until) })
		return
	}
	v := w.chain(e, lineage, ticker.Event{Shard: &shard}, func(any, error) {
		if w.calm {
			w.ticks = w.nextTimer()
		}
	})
	w.trace.add("%s gets shard %d", v.name, shard)
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
