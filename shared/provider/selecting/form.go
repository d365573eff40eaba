package selecting

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"orgops/shared/domain/event"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/endpoint"
)

// Form is an event in one of its versions, with its payload.
type Form struct {
	event.Event
	Version int // 0 for an event that has always had one version
	Payload json.RawMessage

	kind   event.Kind
	others map[int]*Form // of the newest one, those that its endpoints have chosen

	once   sync.Once // makes source
	source mapping.Source
	unread error
}

func newForm(e event.Event, kind event.Kind, version int) (*Form, error) {
	payload, err := e.Payload()
	return &Form{Event: e, Version: version, Payload: payload, kind: kind}, err
}

// Read returns what the filters of all endpoints read. It is safe for concurrent use.
func (f *Form) Read() (mapping.Source, error) {
	f.once.Do(func() { f.source, f.unread = mapping.NewSource(f.Event) })
	return f.source, f.unread
}

// FormsOf returns the newest forms of a change's events. Next to an error it returns those that it could make.
func FormsOf(change store.Change, kinds event.Table) (all []*Form, err error) {
	events, err := event.Of(change)
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, e := range events {
		kind, _ := kinds.Find(e.Type)
		version := 0
		if len(kind.Former) > 0 {
			version = kind.Version()
		}
		f, err := newForm(e, kind, version)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		all = append(all, f)
	}
	return all, errors.Join(failures...)
}

// For returns the form of the event that an endpoint gets; f is the newest. It is not safe for concurrent use.
func (f *Form) For(to *endpoint.Endpoint, now time.Time) (*Form, error) {
	if f.Version == 0 {
		return f, nil
	}
	version := f.kind.Sent(to.Versions[f.Type], now)
	if version == f.Version {
		return f, nil
	}
	if made := f.others[version]; made != nil {
		return made, nil
	}
	e, err := f.kind.In(version, f.Event)
	if err != nil {
		return nil, err
	}
	made, err := newForm(e, f.kind, version)
	if err != nil {
		return nil, err
	}
	if f.others == nil {
		f.others = map[int]*Form{}
	}
	f.others[version] = made
	return made, nil
}
