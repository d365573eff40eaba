package projection

import (
	"strings"
	"time"

	"orgops/shared/delivery"
	"orgops/shared/id"
	"orgops/shared/store"
)

// deliveryState is what folding needs of a delivery.
type deliveryState struct {
	state          delivery.State
	made, requests int
}

func (f *folding) delivery(c store.Change) error {
	was, err := deliveryOf(c.Old)
	if err != nil {
		return err
	}
	is, err := deliveryOf(c.New)
	if err != nil {
		return err
	}
	endpoint := delivery.EndpointOf(c.Key)
	e, known := f.Deliveries.Endpoints[endpoint]
	if !known {
		e.Hourly, e.Held, e.Dead = newWindow(time.Hour), Tally{}, Tally{}
	}
	if was.state != is.state {
		when := eventTime(c)
		f.move(&e, was.state, when, -1)
		f.move(&e, is.state, when, +1)
	}
	if n := attempts(was, is); n.Total() > 0 {
		f.Deliveries.Recent.add(c.At, n, recentBuckets)
		f.Deliveries.Hourly.add(c.At, n, hourlyBuckets)
		e.Hourly.add(c.At, n, endpointBuckets)
		f.outcome(endpoint, c.At.UTC(), n.Delivered > 0)
	}
	f.keep(endpoint, e)
	return nil
}

// move counts a delivery in (+1) or out (-1) of where its state keeps it.
func (f *folding) move(e *Endpoint, s delivery.State, when time.Time, n int) {
	switch s {
	case delivery.Scheduled:
		f.Deliveries.Pending.add(when, recentStep, n)
		e.Pending = max(e.Pending+n, 0)
	case delivery.Held:
		e.Held.add(when, tallyDay, n)
	case delivery.Dead:
		e.Dead.add(when, tallyDay, n)
	}
}

// outcome notes for an integration that a delivery or a sync worked or failed.
func (f *folding) outcome(provider string, when time.Time, worked bool) {
	i, ok := f.Integrations[provider]
	if !ok {
		return
	}
	switch {
	case worked:
		i.LastSuccessAt, i.FailingSince = when, time.Time{}
	case i.FailingSince.IsZero():
		i.LastFailureAt, i.FailingSince = when, when
	default:
		i.LastFailureAt = when
	}
	f.Integrations[provider] = i
}

// attempts is how many attempts a change made. All but the last of several failed, since a delivered one ends it; the
// last one's outcome is the delivery's state. A request starts the count of attempts over.
func attempts(was, is deliveryState) Counts {
	n := is.made - was.made
	if n < 0 && is.requests > was.requests {
		n = is.made
	}
	if n <= 0 {
		return Counts{}
	}
	if is.state == delivery.Delivered {
		return Counts{Delivered: 1, Failed: int64(n - 1)}
	}
	return Counts{Failed: int64(n)}
}

// eventTime is the time in the event's id, which is in the key; where the id has none, the delivery's creation.
func eventTime(c store.Change) time.Time {
	eventID, _, _ := strings.Cut(strings.TrimPrefix(c.Key, delivery.Prefix), "#")
	if t, ok := id.Time(eventID); ok {
		return t
	}
	image := c.New
	if image == nil {
		image = c.Old
	}
	created, _ := field(image.Body, "createdAt") // the states have been read from the same text
	t, err := time.Parse(time.RFC3339, created)
	if err != nil {
		return c.At
	}
	return t
}

func deliveryOf(image *store.Image) (d deliveryState, err error) {
	if image == nil {
		return d, nil
	}
	var failure error
	err = fields(image.Body, func(name, value []byte) bool {
		switch string(name) {
		case "state":
			d.state, failure = stateOf(value)
		case "made":
			d.made, failure = number(value)
		case "requests":
			d.requests, failure = number(value)
			return false // made stands before it
		}
		return failure == nil
	})
	if err == nil {
		err = failure
	}
	return d, err
}

// stateOf is text without an allocation for the states that there are.
func stateOf(value []byte) (delivery.State, error) {
	switch string(value) {
	case `"delivered"`:
		return delivery.Delivered, nil
	case `"scheduled"`:
		return delivery.Scheduled, nil
	}
	s, err := text(value)
	return delivery.State(s), err
}
