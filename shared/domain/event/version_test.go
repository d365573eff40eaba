package event_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
)

// versions returns a table in which memory.created has three versions. The first one has ended a day after at, the second ends a month
// after it.
func versions() event.Table {
	type first struct{ Title string }
	wrap := func(name string) func(json.RawMessage) (json.RawMessage, error) {
		return func(data json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(map[string]json.RawMessage{name: data})
		}
	}
	return event.Table{
		{Name: event.MemoryCreated, Shown: reflect.TypeFor[int](), Former: []event.Former{
			{Ends: at.AddDate(0, 0, 1), Shown: reflect.TypeFor[first](), Data: wrap("one")},
			{Ends: at.AddDate(0, 1, 0), Shown: reflect.TypeFor[string](), Data: wrap("two")},
		}},
		{Name: event.GoalUpdated, Shown: reflect.TypeFor[int]()},
	}
}

func TestKind_Sent(t *testing.T) {
	t.Parallel()
	created, _ := versions().Find(event.MemoryCreated)
	for _, tt := range []struct {
		name         string
		chosen, want int
		now          time.Time
	}{
		{"no choice", 0, 1, at},
		{"the first", 1, 1, at},
		{"the second", 2, 2, at},
		{"the newest", 3, 3, at},
		{"the first has ended", 1, 2, at.AddDate(0, 0, 1)},
		{"both have ended", 1, 3, at.AddDate(0, 1, 0)},
		{"of a later release", 4, 3, at},
	} {
		if got := created.Sent(tt.chosen, tt.now); got != tt.want {
			t.Errorf("%s: version %d is sent, want %d", tt.name, got, tt.want)
		}
	}
}

// TestKind_In checks that each former version is made from the next one.
func TestKind_In(t *testing.T) {
	t.Parallel()
	created, _ := versions().Find(event.MemoryCreated)
	for version, want := range map[int]string{1: `{"one":{"two":{}}}`, 2: `{"two":{}}`, 3: `{}`} {
		e, err := created.In(version, event.Event{ID: "e", Data: json.RawMessage(`{}`)})
		errtest.Must(t, err)
		if got := string(e.Data); got != want {
			t.Errorf("data of version %d %s, want %s", version, got, want)
		}
	}
	if got := created.ShownIn(2); got != reflect.TypeFor[string]() {
		t.Errorf("version 2 shows %v, want the type of its own", got)
	}
}

// TestTable_Pin checks that an endpoint keeps its versions until it asks for others, and gets the newest version in a new subscription.
func TestTable_Pin(t *testing.T) {
	t.Parallel()
	all := []string{"memory.*"}
	for _, tt := range []struct {
		name             string
		asked, had, want event.Pins
		is, was          []string
		now              time.Time
	}{
		{"new", nil, nil, event.Pins{event.MemoryCreated: 3}, all, nil, at},
		{"configured again", nil, event.Pins{event.MemoryCreated: 2}, event.Pins{event.MemoryCreated: 2}, all, all, at},
		{"configured before there was a second version", nil, nil, event.Pins{event.MemoryCreated: 1}, all, all, at},
		{"its version has ended", nil, nil, event.Pins{event.MemoryCreated: 2}, all, all, at.AddDate(0, 0, 2)},
		{"another subscription", nil, event.Pins{event.MemoryCreated: 2}, event.Pins{event.MemoryCreated: 3}, all, []string{"goal.*"}, at},
		{"no subscription", nil, nil, nil, []string{"goal.*"}, all, at},
		{"asked for", event.Pins{event.MemoryCreated: 1, event.GoalUpdated: 1}, event.Pins{event.MemoryCreated: 2}, event.Pins{event.MemoryCreated: 1, event.GoalUpdated: 1}, all, all, at},
	} {
		if diff := cmp.Diff(tt.want, versions().Pin(tt.asked, tt.had, tt.is, tt.was, tt.now)); diff != "" {
			t.Errorf("%s: versions differ (-want +got):\n%s", tt.name, diff)
		}
	}
	if got := event.Kinds().Pin(nil, nil, all, nil, at); got != nil {
		t.Errorf("versions of events that have one each: %v, want none stored", got)
	}
}

func TestTable_Check(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		pins    event.Pins
		now     time.Time
		pointer string
	}{
		{"a former one", event.Pins{event.MemoryCreated: 1}, at, ""},
		{"the newest", event.Pins{event.MemoryCreated: 3}, at, ""},
		{"one that has ended", event.Pins{event.MemoryCreated: 1}, at.AddDate(0, 0, 1), "/eventVersions/memory.created"},
		{"one that does not exist", event.Pins{event.GoalUpdated: 2}, at, "/eventVersions/goal.updated"},
		{"none", event.Pins{event.GoalUpdated: 0}, at, "/eventVersions/goal.updated"},
		{"another event", event.Pins{"goal.lost": 1}, at, "/eventVersions/goal.lost"},
	} {
		pointer := ""
		var refused *fault.Error
		if errors.As(versions().Check(tt.pins, tt.now), &refused) {
			pointer = refused.Problems[0].Pointer
		}
		if pointer != tt.pointer {
			t.Errorf("%s: refused at %q, want %q", tt.name, pointer, tt.pointer)
		}
	}
}
