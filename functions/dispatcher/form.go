package dispatcher

import (
	"encoding/json"
	"errors"
	"sync"

	"orgops/shared/domain/event"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// form is an event in one of its versions, with its payload.
type form struct {
	event.Event
	version int // 0 for an event that has always had one version
	payload json.RawMessage
	read    func() (mapping.Source, error) // for all endpoints with a filter; safe for concurrent use
	others  map[int]*form                  // of the newest one, those that its endpoints have chosen
}

func newForm(e event.Event, version int) (*form, error) {
	payload, err := e.Payload()
	return &form{e, version, payload, sync.OnceValues(func() (mapping.Source, error) { return mapping.NewSource(e) }), nil}, err
}

// formsOf returns the newest forms of a change's events. Next to an error it returns those that it could make.
func (d *Dispatcher) formsOf(change store.Change) (all []*form, err error) {
	events, err := event.Of(change)
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, e := range events {
		version := 0
		if kind, _ := d.Events.Find(e.Type); len(kind.Former) > 0 {
			version = kind.Version()
		}
		f, err := newForm(e, version)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		all = append(all, f)
	}
	return all, errors.Join(failures...)
}

// formFor returns the form that an endpoint gets.
func (d *Dispatcher) formFor(newest *form, to *courier.Endpoint) (*form, error) {
	if newest.version == 0 {
		return newest, nil
	}
	kind, _ := d.Events.Find(newest.Type)
	version := kind.Sent(to.Versions[newest.Type], d.Now())
	if version == newest.version {
		return newest, nil
	}
	if made := newest.others[version]; made != nil {
		return made, nil
	}
	e, err := kind.In(version, newest.Event)
	if err != nil {
		return nil, err
	}
	made, err := newForm(e, version)
	if err != nil {
		return nil, err
	}
	if newest.others == nil {
		newest.others = map[int]*form{}
	}
	newest.others[version] = made
	return made, nil
}
