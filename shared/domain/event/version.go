package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"orgops/shared/base/fault"
)

// Former describes a former version of an event's payload. An endpoint that was configured with it gets it until it ends.
type Former struct {
	Ends  time.Time                                      // a year after the next version began
	Shown reflect.Type                                   // what its data show of the subject
	Data  func(json.RawMessage) (json.RawMessage, error) // makes its data from those of the next version
}

// Version returns the number of the event's newest version.
func (k Kind) Version() int { return len(k.Former) + 1 }

// IsSent reports whether a version is still sent to endpoints that have chosen it.
func (k Kind) IsSent(version int, now time.Time) bool {
	return version == k.Version() || version >= 1 && version < k.Version() && now.Before(k.Former[version-1].Ends)
}

// Sent returns the version that an endpoint gets: its choice, or the next version that is still sent. An endpoint that has
// chosen none, which is 0, has version 1.
func (k Kind) Sent(chosen int, now time.Time) int {
	version := max(chosen, 1)
	for version < k.Version() && !k.IsSent(version, now) {
		version++
	}
	return min(version, k.Version())
}

// ShownIn returns what the data of a version show of the event's subject.
func (k Kind) ShownIn(version int) reflect.Type {
	if version < k.Version() {
		return k.Former[version-1].Shown
	}
	return k.Shown
}

// In returns an event in one of its versions.
func (k Kind) In(version int, e Event) (Event, error) {
	for n := k.Version() - 1; n >= version; n-- {
		var err error
		if e.Data, err = k.Former[n-1].Data(e.Data); err != nil {
			return e, fmt.Errorf("version %d of %s: %w", n, k.Name, err)
		}
	}
	return e, nil
}

// Table lists events.
type Table []Kind

// Find returns an event by its name.
func (t Table) Find(name string) (k Kind, ok bool) {
	n := slices.IndexFunc(t, func(k Kind) bool { return k.Name == name })
	if n < 0 {
		return Kind{}, false
	}
	return t[n], true
}

// Pins holds the versions that an endpoint has chosen, by the names of events. An event without one has version 1.
type Pins map[string]int

// Check returns fault.Invalid with the versions that do not exist or have ended, under /eventVersions.
func (t Table) Check(p Pins, now time.Time) error {
	var problems []fault.FieldError
	for _, name := range slices.Sorted(maps.Keys(p)) {
		k, ok := t.Find(name)
		switch {
		case !ok:
			problems = append(problems, fault.FieldError{Pointer: "/eventVersions" + fault.Pointer(name), Detail: "is no event; list-event-types has the events"})
		case !k.IsSent(p[name], now):
			detail := fmt.Sprintf("has no version %d that is sent; the newest is %d", p[name], k.Version())
			problems = append(problems, fault.FieldError{Pointer: "/eventVersions" + fault.Pointer(name), Detail: detail})
		}
	}
	return fault.Refuse(problems)
}

// Pin returns the versions that an endpoint has from now on of the events to which it subscribes: those asked for, or else those that it
// had of the events to which it subscribed before, or else the newest ones.
func (t Table) Pin(asked, had Pins, is, was []string, now time.Time) Pins {
	pins := maps.Clone(asked)
	for _, k := range t {
		if _, named := asked[k.Name]; named || k.Version() == 1 || !Matches(is, k.Name) {
			continue
		}
		if pins == nil {
			pins = Pins{}
		}
		pins[k.Name] = k.Version()
		if Matches(was, k.Name) {
			pins[k.Name] = k.Sent(had[k.Name], now)
		}
	}
	return pins
}
