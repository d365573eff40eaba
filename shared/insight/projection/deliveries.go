package projection

import (
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// deliveryState holds the fields of a delivery that folding needs.
type deliveryState struct {
	State      delivery.State `json:"state"`
	Made       int            `json:"made"`
	Generation int            `json:"generation"`
}

func (f *folding) delivery(c store.Change) error {
	was, err := decode[deliveryState](c.Old)
	if err != nil {
		return err
	}
	is, err := decode[deliveryState](c.New)
	if err != nil {
		return err
	}
	endpoint := delivery.EndpointOf(c.Key)
	e, known := f.Deliveries.Endpoints[endpoint]
	if !known {
		e.Hourly, e.Held, e.Dead = newWindow(time.Hour), Tally{}, Tally{}
	}
	if was.State != is.State {
		when := eventTime(c)
		f.move(&e, was.State, when, -1)
		f.move(&e, is.State, when, +1)
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

// move adds n (+1 or -1) to the count of the delivery's state.
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

// outcome records in an integration whether a delivery or a sync succeeded.
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

// attempts counts the attempts between two states of a delivery. A success ends a delivery, so every attempt but the last
// has failed. The delivery's state is the outcome of the last attempt. A restart begins a new generation, which counts its
// attempts from 0.
func attempts(was, is deliveryState) Counts {
	n := is.Made - was.Made
	if n < 0 && is.Generation > was.Generation {
		n = is.Made
	}
	if n <= 0 {
		return Counts{}
	}
	if is.State == delivery.Delivered {
		return Counts{Delivered: 1, Failed: int64(n - 1)}
	}
	return Counts{Failed: int64(n)}
}

// eventTime returns the time in the event's id, which is part of the key. If the id has no time, it returns the time at
// which the delivery was created.
func eventTime(c store.Change) time.Time {
	eventID, _, _ := strings.Cut(strings.TrimPrefix(c.Key, delivery.Prefix), "#")
	if t, ok := id.Time(eventID); ok {
		return t
	}
	image := c.New
	if image == nil {
		image = c.Old
	}
	created, err := decode[struct {
		At time.Time `json:"createdAt"`
	}](image)
	if err != nil || created.At.IsZero() {
		return c.At
	}
	return created.At
}
