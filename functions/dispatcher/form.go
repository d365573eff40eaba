package dispatcher

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"orgops/shared/domain/event"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
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

// form is an event in one of its versions.
type form struct {
	readyEvent
	version int                            // 0 for an event that has always had one version
	read    func() (mapping.Source, error) // for all endpoints with a filter; safe for concurrent use
}

func newForm(e readyEvent, version int) *form {
	return &form{e, version, sync.OnceValues(func() (mapping.Source, error) { return mapping.NewSource(e.Event) })}
}

// forms holds an event in the versions that its endpoints have chosen.
type forms struct {
	newest *form
	kind   event.Kind // of an event that has former versions
	made   map[int]*form
	now    time.Time
}

func (d *Dispatcher) formsOf(e readyEvent) *forms {
	kind, _ := d.Events.Find(e.Type)
	if len(kind.Former) == 0 {
		return &forms{newest: newForm(e, 0)}
	}
	newest := newForm(e, kind.Version())
	return &forms{newest, kind, map[int]*form{kind.Version(): newest}, d.Now()}
}

// of returns the form that an endpoint gets.
func (f *forms) of(to *courier.Endpoint) (*form, error) {
	if f.made == nil {
		return f.newest, nil
	}
	version := f.kind.Sent(to.Versions[f.newest.Type], f.now)
	if made := f.made[version]; made != nil {
		return made, nil
	}
	e, err := f.kind.In(version, f.newest.Event)
	if err != nil {
		return nil, err
	}
	payload, err := e.Payload()
	if err != nil {
		return nil, err
	}
	f.made[version] = newForm(readyEvent{e, payload}, version)
	return f.made[version], nil
}
