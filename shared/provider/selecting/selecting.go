// Package selecting makes the deliveries of an event what their endpoints want: in the version that the endpoint has chosen, and by the filter
// and the transformation of its subscription. It counts what these make of the events.
package selecting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/provider/mapping"
	"orgops/shared/webhook/endpoint"
)

// maxKept limits the checked selections in memory. At the limit, all of them are dropped.
const maxKept = 500

// Selector keeps the checked selections of endpoints. The zero Selector is empty. It is safe for concurrent use.
type Selector struct {
	mu   sync.Mutex
	kept map[expressions]*mapping.Selection
}

type expressions struct{ filter, transform string }

// of returns the selection of an endpoint, nil if the endpoint gets every event as it is.
func (s *Selector) of(e *endpoint.Endpoint) (*mapping.Selection, error) {
	key := expressions{e.Filter, e.Transform}
	if key == (expressions{}) {
		return nil, nil //nolint:nilnil // no selection
	}
	s.mu.Lock()
	known := s.kept[key]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	checked, err := mapping.NewSelection(key.filter, key.transform)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= maxKept {
		s.kept = map[expressions]*mapping.Selection{}
	}
	s.kept[key] = checked
	return checked, nil
}

// Outcome says what became of an event for an endpoint.
type Outcome uint8

// The outcomes.
const (
	Plain    Outcome = iota // the endpoint has no filter and no transformation
	Matched                 // the delivery has the body that the endpoint gets
	Filtered                // the endpoint does not want the event
	Failed                  // the delivery is held
)

// Apply gives a delivery of an event the form that its endpoint gets. read returns the event, and is called only if it is needed.
func (s *Selector) Apply(ctx context.Context, to *endpoint.Endpoint, d *delivery.Delivery, read func() (mapping.Source, error)) Outcome {
	selection, err := s.of(to)
	if selection == nil && err == nil {
		return Plain
	}
	var from mapping.Source
	if err == nil {
		from, err = read()
	}
	var got mapping.Selected
	if err == nil {
		got, err = selection.Apply(ctx, from)
	}
	var failed *mapping.SelectError
	switch {
	case errors.As(err, &failed):
		d.Unselected(failed.Part, failed.Error())
		return Failed
	case err != nil: // it was checked when it was stored
		d.Unselected(delivery.HeldFilter, "the filter or the transformation cannot be read; configure the endpoint again")
		return Failed
	case !got.Wanted:
		return Filtered
	}
	if got.Body != nil {
		d.Payload = got.Body
	}
	d.Whole = false
	return Matched
}

// Again does what Apply does for a delivery whose payload is that of the event. What the filter leaves out stays held.
func (s *Selector) Again(ctx context.Context, to *endpoint.Endpoint, d *delivery.Delivery) {
	outcome := s.Apply(ctx, to, d, func() (mapping.Source, error) {
		var e event.Event
		if err := json.Unmarshal(d.Payload, &e); err != nil {
			return mapping.Source{}, fmt.Errorf("payload of a delivery: %w", err)
		}
		return mapping.NewSource(e)
	})
	switch outcome {
	case Plain:
		d.Whole = false
	case Filtered:
		d.Unselected(delivery.HeldFilter, "the filter leaves the event out")
	}
}
