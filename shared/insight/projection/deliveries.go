package projection

import (
	"cmp"
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

	Incarnation string `json:"incarnation"`
}

// ended reports whether the delivery waited for no attempt.
func (d deliveryState) ended() bool {
	return d.State != delivery.Scheduled && d.State != delivery.Waiting
}

// attempt holds the fields of an attempt that folding needs.
type attempt struct {
	State     delivery.State `json:"state"`
	At        time.Time      `json:"at"`
	LatencyMS int64          `json:"latencyMs"`
}

func (f *folding) delivery(c store.Change) error {
	was, err := decodeBy[deliveryState](delivery.DecodeHead, c.Old)
	if err != nil {
		return err
	}
	var attempts []attempt
	is, err := decodeBy[deliveryState](func(body []byte, head any) error { return delivery.DecodeLog(body, head, &attempts) }, c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	endpoint := delivery.EndpointOf(c.Key)
	current := f.current(endpoint, cmp.Or(is.Incarnation, was.Incarnation))
	stored, known := f.Deliveries.Endpoints[endpoint]
	if !known {
		stored = newEndpoint()
	}
	e := stored
	if !current { // of an endpoint that was deleted, only the dead letters count
		e = newEndpoint()
		e.Dead = stored.Former
	}
	if was.State != is.State {
		when := eventTime(c)
		f.move(&e, was.State, when, -1)
		f.move(&e, is.State, when, +1)
	}
	for _, a := range fresh(c, was, is, attempts) {
		f.attempt(&e, a)
		if !current {
			continue
		}
		f.outcome(endpoint, a.At, a.State == delivery.Delivered)
		if a.State == delivery.Delivered {
			f.sent(endpoint, eventTime(c), a.At.Add(time.Duration(a.LatencyMS)*time.Millisecond))
		}
	}
	if !current {
		stored.Former = e.Dead
		e = stored
	}
	f.keep(endpoint, e)
	return nil
}

// attempt counts an attempt.
func (f *folding) attempt(e *Endpoint, a attempt) {
	n := Counts{Failed: 1}
	if a.State == delivery.Delivered {
		n = Counts{Delivered: 1}
	}
	f.Deliveries.Recent.add(a.At, n, recentBuckets, f.UpdatedAt)
	f.Deliveries.Hourly.add(a.At, n, hourlyBuckets, f.UpdatedAt)
	f.Deliveries.Daily.add(a.At, n, dailyBuckets, f.UpdatedAt)
	e.Hourly.add(a.At, n, endpointBuckets, f.UpdatedAt)
}

// move adds n (+1 or -1) to the count of the delivery's state.
func (f *folding) move(e *Endpoint, s delivery.State, when time.Time, n int) {
	now := f.UpdatedAt
	switch s {
	case delivery.Scheduled, delivery.Waiting:
		if from := pendingStart(when, now); !from.Before(oldestStep(now, tallyDay)) {
			f.Deliveries.Pending.add(from, n)
		}
		e.Pending = max(e.Pending+n, 0)
	case delivery.Held:
		if from := backlogStart(when, now); !from.Before(oldestStep(now, tallyDays)) {
			e.Held.add(from, n)
		}
	case delivery.Dead:
		if from := backlogStart(when, now); !from.Before(oldestStep(now, tallyDays)) {
			e.Dead.add(from, n)
		}
	}
}

// fresh returns the attempts that a change added, none of them later than the change. A delivery's log keeps the newest 25.
// A restart begins a new generation, which counts its attempts from 0. So does a recovery that attempts a delivery which has
// ended. All attempts of a delivery without an old state are
// fresh.
func fresh(c store.Change, was, is deliveryState, attempts []attempt) []attempt {
	n := is.Made - was.Made
	switch {
	case c.Old == nil:
		n = len(attempts)
	case (n < 0 || was.ended()) && is.Generation > was.Generation:
		n = is.Made
	}
	all := attempts[max(len(attempts)-max(n, 0), 0):]
	for i, a := range all {
		all[i].At = a.At.UTC().Truncate(time.Millisecond) // as the time of a change
		if a.At.IsZero() || a.At.After(c.At) {
			all[i].At = c.At.UTC()
		}
	}
	return all
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
	created, err := decodeBy[struct {
		At time.Time `json:"timestamp"`
	}](delivery.DecodeHead, image)
	if err != nil || created.At.IsZero() {
		return c.At
	}
	return created.At
}
