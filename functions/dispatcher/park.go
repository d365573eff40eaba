package dispatcher

import (
	"context"
	"encoding/json"
	"errors"

	"orgops/shared/domain/event"
	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
)

// readyEvent holds an event with its payload.
type readyEvent struct {
	event.Event
	payload json.RawMessage
}

// readyEventsOf returns the events of a change. Next to an error it returns the events that it could make.
func readyEventsOf(change store.Change) (all []readyEvent, err error) {
	events, err := event.Of(change)
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, e := range events {
		payload, err := e.Payload()
		if err != nil {
			failures = append(failures, err)
			continue
		}
		all = append(all, readyEvent{e, payload})
	}
	return all, errors.Join(failures...)
}

// park parks a change in the background. If that fails, the change is redelivered.
func (d *Dispatcher) park(ctx context.Context, change store.Change, reason error, work *tracker) {
	work.add()
	go func() { work.finish(d.lot.Park(ctx, change, reason)) }()
}

// again handles the change in a parked item that an operator has given back. When all of its work is done, it removes the
// item. An item whose change is still not understood stays.
func (d *Dispatcher) again(ctx context.Context, item store.Change, work *tracker) {
	if item.New == nil {
		return
	}
	p, err := parked.Decode(item.New.Body)
	if err == nil && p.Consumer != Consumer {
		return
	}
	var original store.Change
	if err == nil {
		original, err = p.Original(item.Company)
	}
	if err != nil {
		d.Logger.ErrorContext(ctx, "parked change not usable", "company", item.Company, "parked", item.Key, "error", err)
		return
	}
	work.add()
	understood := false
	inner := &tracker{done: func(err error) {
		if err != nil || !understood {
			work.finish(err)
			return
		}
		go func() { work.finish(d.lot.Remove(ctx, item.Company, item.Key, item.New.Version)) }()
	}}
	inner.add()
	understood = d.begin(ctx, store.Batch{Changes: []store.Change{original}, Replay: true}, inner)
	inner.finish(nil)
}
